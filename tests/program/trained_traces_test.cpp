// Goal: the stages of a real training compute their passes in the order of DeepSpeed's schedule, and keep no more
// activations than it does. Method: the traces of runs in threads; layers that multiply by a tensor whose memory is
// counted, which autograd keeps until the backward pass.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "runtime/schedule/train_schedule.hpp"
#include <troupe/training_engine.hpp>

namespace troupe {
namespace {

constexpr std::int64_t width = 4;
constexpr std::int64_t rows = 3;
constexpr std::uint64_t steps = 3;

/// How many tensors of one stage there are, and have been at most.
class live_count {
 public:
  void add() {
    const int now = ++live_;
    int known = most_;
    while (known < now && !most_.compare_exchange_weak(known, now)) {
    }
  }
  void remove() { --live_; }
  [[nodiscard]] int most() const { return most_; }

 private:
  std::atomic<int> live_ = 0;
  std::atomic<int> most_ = 0;
};

using live_counts = std::vector<std::shared_ptr<live_count>>;

/// A stage of two layers for each count.
pipeline_module network(const live_counts& counts) {
  pipeline_module made{.num_stages = static_cast<std::uint32_t>(counts.size()), .partition_method = "uniform"};
  for (const auto& count : counts) {
    made.layers.push_back(layer_spec("Linear", [] { return torch::nn::Linear(width, width); }));
    made.layers.push_back(layer_spec::function("Counted", [count](const at::Tensor& x) {
      static std::array<float, rows* width> ones = [] {
        std::array<float, rows * width> all{};
        all.fill(1);
        return all;
      }();
      count->add();
      return x * at::from_blob(ones.data(), x.sizes(), [count](void*) { count->remove(); });
    }));
  }
  return made;
}

data_iterator batches() {
  return []() -> std::optional<batch> { return batch{at::ones({rows, width}), at::zeros({rows}, at::kLong)}; };
}

/// "F0 F1 B0 ...", the same in each step.
std::string passes_of_schedule(std::uint64_t micro_batches, std::uint32_t stages, stage_index stage) {
  std::string text;
  for (std::uint64_t step = 0; step < steps; ++step) {
    std::uint64_t forwards = 0;
    std::uint64_t backwards = 0;
    for (const schedule_step& each : train_schedule(micro_batches, stages, stage)) {
      for (const instruction& one : each) {
        if (one.kind == instruction_kind::forward_pass) text += "F" + std::to_string(forwards++) + " ";
        if (one.kind == instruction_kind::backward_pass) text += "B" + std::to_string(backwards++) + " ";
      }
    }
    text += "| ";
  }
  return text;
}

std::map<stage_index, std::string> passes_of_trace(const std::vector<trace_event>& trace) {
  std::map<stage_index, std::string> texts;
  for (const trace_event& each : trace) {
    std::string& text = texts[each.where.stage];
    if (each.what == instruction_kind::forward_pass) text += "F" + std::to_string(each.id.index) + " ";
    if (each.what == instruction_kind::backward_pass) text += "B" + std::to_string(each.id.index) + " ";
    if (each.what == instruction_kind::optimizer_step) text += "| ";
  }
  return texts;
}

void expect_schedule(std::uint32_t stages, std::uint64_t micro_batches) {
  SCOPED_TRACE(std::to_string(stages) + " stages, " + std::to_string(micro_batches) + " micro-batches");
  live_counts counts(stages);
  for (auto& each : counts) each = std::make_shared<live_count>();
  training_engine_options options;
  options.training.num_micro_batches = micro_batches;
  options.training.loss = training_loss_options{.kind = loss_kind::cross_entropy};
  options.pipeline.run.threads = 1;
  options.pipeline.run.trace = true;
  auto engine = training_engine::create(network(counts), options);
  ASSERT_TRUE(engine) << to_string(engine.error());
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto made = (*engine)->train_batch(batches());
    ASSERT_TRUE(made) << to_string(made.error());
  }
  const auto trace = (*engine)->finish();
  ASSERT_TRUE(trace) << to_string(trace.error());
  const auto passes = passes_of_trace(*trace);
  ASSERT_EQ(passes.size(), stages);
  for (const auto& [stage, text] : passes) {
    EXPECT_EQ(text, passes_of_schedule(micro_batches, stages, stage)) << "stage " << stage;
    EXPECT_EQ(static_cast<std::uint64_t>(counts[stage]->most()), std::min<std::uint64_t>(stages - stage, micro_batches))
        << "stage " << stage;
  }
}

TEST(trained_traces, are_those_of_the_schedule) {
  for (const std::uint32_t stages : {1, 2, 3, 5, 8}) {
    for (const std::uint64_t micro_batches : {1, 2, 4, 7, 16}) expect_schedule(stages, micro_batches);
  }
}

}  // namespace
}  // namespace troupe
