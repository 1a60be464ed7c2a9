// Goal: an iterator, a data set or a stage that fills one buffer anew for each micro-batch gives the losses and metrics
// of one that makes its tensors anew, in one process and with workers. Method: numbers of which every sample has its
// own, a model of one product, and plain loops; labels are filled anew, too. Workers are this program, started again.
#include <cstdlib>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/pipeline_engine.hpp>
#include <troupe/program.hpp>
#include <troupe/topology.hpp>

namespace troupe::testing {
namespace {

constexpr const char* door_variable = "TROUPE_TEST_DOOR";
constexpr std::int64_t width = 32;
constexpr std::int64_t classes = 7;
constexpr std::int64_t rows = 16;
constexpr std::int64_t micro_batches = 60;

at::Tensor inputs_at(std::int64_t begin, std::int64_t end) {
  return at::outer(at::arange(begin, end), at::arange(1, width + 1)).to(at::kFloat).sin();
}
at::Tensor labels_at(std::int64_t begin, std::int64_t end) {
  return (at::arange(begin, end) * 31).remainder(classes);
}
at::Tensor outputs_of(const at::Tensor& inputs) {
  return inputs.matmul(at::arange(width * classes).to(at::kFloat).cos().view({width, classes}));
}

std::vector<at::Tensor> loss_of(const at::Tensor& outputs, const at::Tensor& labels) {
  return {at::cross_entropy_loss(outputs, labels)};
}

/// By a plain loop over tensors that are made anew.
std::vector<std::vector<double>> right_losses(std::int64_t first, std::int64_t last) {
  std::vector<std::vector<double>> losses;
  for (std::int64_t index = first; index < last; ++index) {
    const std::int64_t begin = index * rows;
    losses.push_back(
        {loss_of(outputs_of(inputs_at(begin, begin + rows)), labels_at(begin, begin + rows))[0].item<double>()});
  }
  return losses;
}

std::uint64_t right_count() {
  const std::int64_t samples = rows * micro_batches;
  const at::Tensor predicted = outputs_of(inputs_at(0, samples)).argmax(1);
  return static_cast<std::uint64_t>(predicted.eq(labels_at(0, samples)).sum().item<std::int64_t>());
}

/// One buffer for inputs and one for labels, filled anew for each batch, as a loader with pinned memory does it.
class refilled_iterator {
 public:
  std::optional<batch> operator()() {
    if (*next_ == micro_batches) return std::nullopt;
    const std::int64_t begin = (*next_)++ * rows;
    inputs_.copy_(inputs_at(begin, begin + rows));
    labels_.copy_(labels_at(begin, begin + rows));
    return batch{inputs_, labels_};
  }

 private:
  std::shared_ptr<std::int64_t> next_ = std::make_shared<std::int64_t>(0);
  at::Tensor inputs_ = at::empty({rows, width});
  at::Tensor labels_ = at::empty({rows}, at::kLong);
};

class refilled_set final : public data_set {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return rows * micro_batches; }
  /// Far more than there is: one micro-batch is read at a time.
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {1 << 20}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return troupe::testing::classes; }
  [[nodiscard]] std::string name() const override { return "one buffer"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const auto begin = static_cast<std::int64_t>(range.begin);
    const auto end = static_cast<std::int64_t>(range.end);
    return sample_block{inputs_.slice(0, 0, end - begin).copy_(inputs_at(begin, end)),
                        labels_.slice(0, 0, end - begin).copy_(labels_at(begin, end))};
  }

 private:
  at::Tensor inputs_ = at::empty({rows * micro_batches, width});
  at::Tensor labels_ = at::empty({rows * micro_batches}, at::kLong);
};

/// A stage that writes its outputs into the same memory each time.
named_tensors through_one_buffer(const at::Tensor& inputs) {
  static thread_local at::Tensor buffer = at::empty({rows, classes});
  buffer.copy_(outputs_of(inputs));
  return buffer;
}

topology refilled_topology() {
  return topology{}
      .source("loader", std::make_shared<refilled_set>())
      .stage("product", [](const at::Tensor& x) { return through_one_buffer(x); })
      .stage("next", [](const at::Tensor& x) { return x * 1; })
      .sink("metrics", {"accuracy"});
}

run_options options_for(const std::string& place) {
  run_options run = {.micro_batch = rows, .threads = 1};
  run.workers.enabled = place == "workers";
  return run;
}

std::unique_ptr<pipeline_engine> make_engine(const std::string& place) {
  const pipeline_module module = {
      .layers = {layer_spec::function("Product", [](const at::Tensor& x) { return outputs_of(x); }),
                 layer_spec::function("One", [](const at::Tensor& x) { return x * 1; })},
      .num_stages = 2,
      .loss_fn = loss_of};
  return get(pipeline_engine::create(module, {.num_micro_batches = 20, .run = options_for(place)}));
}

/// Its workers and its try-out find the same door.
void open_door(const std::string& door, const std::string& place) {
  ::setenv(door_variable, (door + " " + place).c_str(), 1);
}

class refilled_memory : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(in, refilled_memory, ::testing::Values("one_process", "workers"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(refilled_memory, of_an_iterator_gives_the_right_losses) {
  open_door("engine", GetParam());
  const auto engine = make_engine(GetParam());
  engine->set_dataiterator(refilled_iterator());
  const auto first = get(engine->eval_batch({}, {.reduce_output = reduction::none}));
  EXPECT_EQ(first.losses, right_losses(0, 20));
  std::vector<eval_future> calls;
  for (int call = 0; call < 2; ++call) {
    calls.push_back(engine->eval_batch_async({}, {.reduce_output = reduction::none}));
  }
  EXPECT_EQ(get(calls[0].get()).losses, right_losses(20, 40));
  EXPECT_EQ(get(calls[1].get()).losses, right_losses(40, 60));
}

TEST_P(refilled_memory, of_a_data_set_gives_the_right_metrics) {
  open_door("engine", GetParam());
  const auto engine = make_engine(GetParam());
  const run_result found = get(engine->evaluate(std::make_shared<refilled_set>()));
  EXPECT_EQ(found["accuracy"].count("correct"), right_count());
}

TEST_P(refilled_memory, of_data_and_stages_of_a_topology_gives_the_right_metrics) {
  open_door("topology", GetParam());
  const run_result found = get(run(refilled_topology(), options_for(GetParam())));
  EXPECT_EQ(found["accuracy"].count("correct"), right_count());
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  using namespace troupe::testing;
  const troupe::program self(argc, argv);
  if (troupe::program::worker() != nullptr || troupe::program::is_probe()) {
    const char* const variable = std::getenv(door_variable);
    const std::string door = variable == nullptr ? "" : variable;
    const std::string place = door.substr(door.find(' ') + 1);
    if (door.starts_with("engine")) static_cast<void>(make_engine(place));
    if (door.starts_with("topology")) static_cast<void>(self.run(refilled_topology(), options_for(place)));
    return 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
