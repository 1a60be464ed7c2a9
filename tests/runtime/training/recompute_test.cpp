// Goal: activations that are computed again give equal bits, with dropout and batch normalisation, and take less
// memory. Method: all intervals of three models; LibTorch's allocator counts the bytes that are live.
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gmock/gmock.h>

#include "tests/runtime/training/plain_loop.hpp"
#include "tests/runtime/training/plain_pipeline.hpp"
#include "tests/runtime/training/trained_models.hpp"

namespace troupe::testing {
namespace {

template <class Make>
void expect_equal_bits(const std::vector<layer_spec>& layers, const Make& batches) {
  plain_pipeline kept = pipeline_of(layers, {3}, {.seed = 3});
  std::vector<double> losses;
  for (int step = 0; step < 2; ++step) losses.push_back(get(kept.step(batches(step), 1e-2)));
  for (const std::uint32_t interval : {1, 2, 3, 50}) {
    SCOPED_TRACE(interval);
    plain_pipeline again = pipeline_of(layers, {3}, {.seed = 3, .recompute_interval = interval});
    again.send_bytes();
    for (int step = 0; step < 2; ++step)
      EXPECT_EQ(get(again.step(batches(step), 1e-2)), losses[static_cast<std::size_t>(step)]);
    expect_equal(again.weights(), kept.weights());
  }
}

TEST(recompute, gives_equal_bits_with_batch_normalisation) {
  expect_equal_bits(resnet20_layers(), [](int step) {
    return picture_batches(3, 32, "again" + std::to_string(step), {3, 2});
  });
}

TEST(recompute, gives_equal_bits_with_dropout) {
  expect_equal_bits(gpt_layers(0.3, 4), [](int step) { return token_batches("again" + std::to_string(step), {3, 2}); });
}

TEST(recompute, gives_equal_bits_with_layers_that_write_their_inputs) {
  expect_equal_bits(lenet_layers(), [](int step) {
    return picture_batches(1, 28, "again" + std::to_string(step), {3, 2});
  });
}

class counted_bytes final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }
  [[nodiscard]] std::int64_t live() const { return live_; }
  [[nodiscard]] std::int64_t peak() const { return peak_; }

 private:
  std::int64_t live_ = 0;
  std::int64_t peak_ = 0;
};

struct memory_use {
  std::int64_t held = 0;  ///< for the backward pass
  std::int64_t peak = 0;
};

memory_use memory_of(std::uint32_t interval) {
  const auto stages = get(stages_of(gpt_layers(0.1, 8), {}, {.recompute_interval = interval}));
  const plain_batch batch = token_batches("memory", {64}).front();
  const auto counted = std::make_shared<counted_bytes>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, counted);
  const activation given{
      .id = {0, 0}, .samples = {0, 64}, .tensors = make_tensors(batch.inputs), .labels = make_tensors(batch.labels)};
  memory_use found;
  {
    activation made = given;
    EXPECT_TRUE(stages.front()->forward(given, made));
  }
  found.held = counted->live();
  EXPECT_TRUE(stages.front()->backward({0, 0}, nullptr));
  found.peak = counted->peak();
  return found;
}

TEST(recompute, takes_less_memory) {
  const memory_use all = memory_of(0);
  const memory_use again = memory_of(1);
  // inputs of segments alone: tokens and positions times the width, for each of eleven layers
  EXPECT_LE(again.held, 11 * 64 * 8 * 16 * 4 + 64 * 1024);
  EXPECT_GT(all.held, 10 * again.held);
  EXPECT_GT(all.peak, 3 * again.peak);
}

}  // namespace
}  // namespace troupe::testing
