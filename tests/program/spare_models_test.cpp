// Goal: a model that a spare has loaded in advance makes the same stage as one loaded when it is needed, and is kept no
// longer than that.
// Method: the models of this repository; outputs are compared to the last bit.
#include "program/models/spare_models.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "program/models/cut_model.hpp"
#include "runtime/model/first_use.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "tests/support/paths.hpp"
#include <troupe/model.hpp>

namespace troupe::testing {
namespace {

const std::string lenet = data_dir() / "mnist/lenet.pt";

expected<layered_model_ptr> load() {
  return load_model(lenet).map(
      [](const model& loaded) { return std::make_shared<layered_model>(loaded.graph(), layer_unit::modules); });
}

expected<layered_model_ptr> load_optimized() {
  auto model = load();
  (*model)->optimize(false);
  return model;
}

/// Of the first of two stages, warmed up as a replacement is or as all others are.
at::Tensor output_of(const layered_model_ptr& model, bool is_replacement) {
  at::manual_seed(7);
  const at::Tensor input = at::randn({5, 1, 28, 28});
  const cut_places places{.boundaries = {0, 4, model->layers().size()},
                          .warm_up = {warm_up_of(make_tensors(input), is_replacement), {}},
                          .activation_bytes = 0};
  const auto cut = cut_at(model, {.stages = 2, .threads = 1}, places);
  EXPECT_TRUE(cut.has_value());
  const auto body = cut->make_body(0, 0, c10::DeviceType::CPU);
  EXPECT_TRUE(body.has_value());
  (*body)->on_start();
  std::vector<activation> inputs(1);
  inputs[0].tensors = make_tensors(input);
  std::vector<activation> outputs(1);
  EXPECT_TRUE((*body)->run(inputs, outputs).has_value());
  return as_tensors(outputs[0].tensors).single();
}

TEST(spare_models, makes_the_same_stage) {
  warm_up_libtorch();
  spare_models spare;
  spare.prepare("lenet", {lenet}, load_optimized);
  auto prepared = spare.take("lenet");
  ASSERT_NE(prepared, nullptr);
  EXPECT_TRUE(at::equal(output_of(prepared, true), output_of(*load(), false)));
}

TEST(spare_models, keeps_nothing_once_it_was_asked) {
  spare_models spare;
  spare.prepare("a", {lenet}, load);
  spare.prepare("b", {lenet}, load);
  EXPECT_NE(spare.take("a"), nullptr);
  EXPECT_EQ(spare.take("a"), nullptr);
  EXPECT_EQ(spare.take("b"), nullptr);
}

TEST(spare_models, prepares_nothing_for_a_worker_that_has_a_stage) {
  spare_models spare;
  EXPECT_EQ(spare.take("lenet"), nullptr);
  bool was_loaded = false;
  spare.prepare("lenet", {lenet}, [&] {
    was_loaded = true;
    return load();
  });
  EXPECT_FALSE(was_loaded);
}

TEST(spare_models, drops_what_is_ready_too_late) {
  spare_models spare;
  spare.prepare("lenet", {lenet}, [&] {
    EXPECT_EQ(spare.take("lenet"), nullptr);  // the assignment comes while it is being loaded
    return load();
  });
  EXPECT_EQ(spare.take("lenet"), nullptr);
}

TEST(spare_models, leaves_errors_to_whoever_needs_the_model) {
  spare_models spare;
  spare.prepare("missing", {"no/such/file.pt"}, load);
  EXPECT_EQ(spare.take("missing"), nullptr);
  spare_models other;
  other.prepare("broken", {lenet}, [] { return expected<layered_model_ptr>(tl::make_unexpected(error{})); });
  EXPECT_EQ(other.take("broken"), nullptr);
}

TEST(warm_up_of, is_short_for_a_replacement_where_all_tensors_have_rows) {
  const at::Tensor sent = at::zeros({64, 3});
  EXPECT_EQ(warm_up_of(make_tensors(sent), false).at(0).size(0), 64);
  EXPECT_EQ(warm_up_of(make_tensors(sent), true).at(0).size(0), limits::warm_up_samples_of_replacement);
  EXPECT_EQ(warm_up_of(make_tensors(sent.narrow(0, 0, 0)), true).at(0).size(0), 0);
  EXPECT_TRUE(warm_up_of(nullptr, true).empty());
  const auto with_mask = std::make_shared<const tensor_set>(std::vector{sent, at::zeros({1, 3})});
  EXPECT_EQ(warm_up_of(with_mask, true).at(0).size(0), 64);
}

}  // namespace
}  // namespace troupe::testing
