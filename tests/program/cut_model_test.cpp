// Goal: `auto` times layers exactly where times can change the cut, within a budget of its own, and is `parameters`
// elsewhere. Method: a model whose times are given as numbers and which notes that it was asked for them, so that no
// test depends on how long anything takes.
#include "program/models/cut_model.hpp"

#include <chrono>
#include <optional>

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

/// All parameters are in the last layer, and nearly all time is spent in the first.
class timed_model final : public layered_model {
 public:
  explicit timed_model(std::size_t layers) : weights_(layers, {"Layer", 0, 0}) { weights_.back().parameters = 100; }

  /// Nothing if no times were asked for.
  std::optional<std::chrono::milliseconds> budget;

  [[nodiscard]] std::vector<double> seconds() const {
    std::vector<double> made(weights_.size(), 1.0);
    made.front() = 100;
    return made;
  }

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::vector<layer_weight> weights() const override { return weights_; }
  [[nodiscard]] std::vector<at::Tensor> tensors() const override { return {}; }
  [[nodiscard]] expected<void> probe(const at::Tensor&, std::uint32_t, const std::stop_token&) const override {
    return {};
  }
  [[nodiscard]] std::vector<layer_finding> random_code() const override { return {}; }
  [[nodiscard]] bool is_optimizable() const noexcept override { return false; }
  [[nodiscard]] expected<layer_trial> try_layers(const at::Tensor&, bool, std::span<const std::size_t>,
                                                 const std::stop_token&) override {
    return layer_trial{};
  }
  [[nodiscard]] expected<std::optional<std::string>> compare_stage(std::size_t, std::size_t,
                                                                   const at::Tensor&) override {
    return std::optional<std::string>();
  }
  [[nodiscard]] expected<void> prepare(const std::stop_token&) override { return {}; }
  [[nodiscard]] expected<std::vector<double>> time_layers(const at::Tensor&, optimize_mode,
                                                          std::span<const std::size_t>, std::uint32_t,
                                                          const std::stop_token&,
                                                          std::chrono::milliseconds within) override {
    budget = within;
    return seconds();
  }
  [[nodiscard]] expected<std::vector<at::Tensor>> inputs_of(std::span<const std::size_t> boundaries,
                                                            const at::Tensor& micro_batch,
                                                            const std::stop_token&) const override {
    return std::vector<at::Tensor>(boundaries.size() - 1, micro_batch);
  }
  [[nodiscard]] expected<void> optimize(std::size_t, std::size_t, std::span<const std::size_t>,
                                        const std::stop_token&) override {
    return {};
  }
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_body(std::size_t, std::size_t,
                                                                const part_options&) const override {
    return std::shared_ptr<stage_body>();
  }

 private:
  std::string name_ = "timed";
  std::vector<layer_weight> weights_;
};

cut_places places_of(timed_model& model, std::uint32_t stages, const std::string& method, bool has_sample) {
  const auto found =
      find_places(model, {.stages = stages, .partition = method}, has_sample ? at::ones({2, 3}) : at::Tensor());
  EXPECT_TRUE(found) << to_string(found.error());
  return found.value_or(cut_places{});
}

TEST(automatic_partition, times_the_layers_where_there_is_a_choice) {
  timed_model model(4);
  const cut_places found = places_of(model, 2, "auto", true);
  EXPECT_EQ(found.boundaries, (part_boundaries{0, 1, 4}));
  EXPECT_EQ(found.cut_by, "profile");
  EXPECT_EQ(model.budget, limits::automatic_profile_budget);
  EXPECT_EQ(places_of(model, 3, "auto", true).boundaries, (part_boundaries{0, 1, 2, 4}));
}

struct untimed_case {
  std::size_t layers;
  std::uint32_t stages;
  bool has_sample;
};

TEST(automatic_partition, times_nothing_for_one_stage_for_the_only_cut_and_without_a_sample) {
  for (const auto& [layers, stages, has_sample] :
       {untimed_case{4, 1, true}, untimed_case{1, 1, true}, untimed_case{4, 4, true}, untimed_case{4, 2, false}}) {
    timed_model model(layers);
    const cut_places found = places_of(model, stages, "auto", has_sample);
    EXPECT_FALSE(model.budget) << layers << " layers, " << stages << " stages";
    EXPECT_EQ(found.cut_by, "parameters");
    EXPECT_EQ(found.boundaries, places_of(model, stages, "parameters", has_sample).boundaries);
  }
  timed_model model(4);
  EXPECT_EQ(places_of(model, 2, "auto", false).boundaries, (part_boundaries{0, 3, 4}));
}

TEST(automatic_partition, cuts_by_times_that_are_known) {
  timed_model model(4);
  const auto found = find_places(model, {.stages = 2}, at::Tensor(), model.seconds());
  ASSERT_TRUE(found) << to_string(found.error());
  EXPECT_EQ(found->boundaries, (part_boundaries{0, 1, 4}));
  EXPECT_EQ(found->cut_by, "profile");
  EXPECT_FALSE(model.budget);
}

TEST(automatic_partition, leaves_other_methods_alone) {
  for (const char* method : {"uniform", "parameters", "type:layer", "0,3,4"}) {
    timed_model model(4);
    EXPECT_EQ(places_of(model, 2, method, true).cut_by, method);
    EXPECT_FALSE(model.budget) << method;
  }
  timed_model model(4);
  EXPECT_EQ(places_of(model, 2, "profile", true).cut_by, "profile");
  EXPECT_EQ(model.budget, limits::profile_budget);
  const auto refused = find_places(model, {.stages = 2, .partition = "profile"}, at::Tensor());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::flags_contradict);
}

}  // namespace
}  // namespace troupe::testing
