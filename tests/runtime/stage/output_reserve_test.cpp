// Goal: outputs of every size are lent to the next process, where LibTorch gives each large tensor an allocation of its
// own, and no bit changes. Method: a stage on the late device, whose memory comes from a cache by LibTorch's rules; its
// outputs are lent as a producer of cuda_ipc does it, without the edge.
#include "runtime/stage/output_reserve.hpp"

#include <deque>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "runtime/edge/cuda_ipc/lent_memory.hpp"
#include "runtime/stage/device_body.hpp"
#include "runtime/tensor/device_tensor_codec.hpp"
#include "stage_inputs.hpp"
#include "testing/late_torch/late_cache.hpp"
#include "testing/late_torch/late_torch.hpp"
#include "testing/nccl/late_device.hpp"

namespace troupe {
namespace {

constexpr std::int64_t mebibyte_of_floats = 1 << 18;

/// Holds as many tensors at once as it has steps.
at::Tensor added_up(at::Tensor x, int steps) {
  std::vector<at::Tensor> held;
  for (int step = 0; step < steps; ++step) {
    held.push_back(x);
    x = x + 0.25;
  }
  return x;
}

/// The first forward may take more than others, as those of LibTorch do.
struct step_counts {
  int of_first = 2;
  int of_others = 2;
  [[nodiscard]] int of(std::uint64_t index) const { return index == 0 ? of_first : of_others; }
};

struct adding_body final : unary_body {
  explicit adding_body(step_counts given) : steps(given) {}
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override {
    return make_tensors(added_up(as_tensors(input.tensors).single(), steps.of(input.id.index)));
  }
  const step_counts steps;
};

/// Memory that the tests share with each other: the cache of a process is made once.
const std::shared_ptr<device_sharing>& sharing() {
  static const std::shared_ptr<device_sharing> one = [] {
    auto made = std::move(*testing::late_device().sharing());
    late::register_late_torch();
    late::use_cache([made](std::size_t bytes) { return made->allocate(bytes)->memory; });
    return made;
  }();
  return one;
}

/// A stage, and those of its outputs that are on their way.
class lending_stage {
 public:
  static constexpr std::uint32_t slots = 3;

  explicit lending_stage(output_way way, step_counts steps = {})
      : steps_(steps),
        body_(std::move(*device_body::make(std::make_shared<adding_body>(steps), late::late_device(), {way}))) {}

  /// Whether its output was lent. The one that had the slot before is read, and comes back.
  bool pass(std::uint64_t index, std::int64_t mebibytes) {
    const auto slot = static_cast<std::uint32_t>(index % slots);
    if (on_their_way_.size() == slots) take_back();
    lent_.came_back(slot);
    std::vector<activation> outputs(1);
    const activation input = micro_batch(index, at::full({mebibytes, mebibyte_of_floats}, static_cast<float>(index)));
    EXPECT_TRUE(body_->run({&input, 1}, outputs));
    while (!body_->outputs_ready()->has_passed().value()) {
    }
    on_their_way_.push_back({index, mebibytes, outputs.front().tensors});
    return lent_.lend(slot, codec_.split(outputs.front().tensors)).has_value();
  }
  int copied_of(int count, std::int64_t mebibytes) {
    int copied = 0;
    for (int each = 0; each < count; ++each) copied += pass(next_++, mebibytes) ? 0 : 1;
    return copied;
  }

 private:
  struct sent {
    std::uint64_t index;
    std::int64_t mebibytes;
    payload_ptr output;
  };
  void take_back() {
    const sent& oldest = on_their_way_.front();
    const at::Tensor right = added_up(
        at::full({oldest.mebibytes, mebibyte_of_floats}, static_cast<float>(oldest.index)), steps_.of(oldest.index));
    EXPECT_TRUE(at::equal(as_tensors(oldest.output).single().cpu(), right)) << "micro-batch " << oldest.index;
    on_their_way_.pop_front();
  }

  const c10::InferenceMode inference_;
  const step_counts steps_;
  const std::unique_ptr<device_body> body_;
  device_tensor_codec codec_{late::late_device()};
  ipc::lent_memory lent_{
      std::make_shared<const ipc_tools>(
          ipc_tools{.device = std::make_shared<testing::late_device>(), .sharing = sharing(), .codec = nullptr}),
      slots};
  std::deque<sent> on_their_way_;
  std::uint64_t next_ = 0;
};

TEST(output_reserve, has_large_outputs_lent_whatever_their_size) {
  static_cast<void>(sharing());
  for (const std::int64_t mebibytes : {std::int64_t{4}, std::int64_t{11}, std::int64_t{16}, std::int64_t{24}}) {
    lending_stage stage(output_way::lent);
    EXPECT_EQ(stage.copied_of(30, mebibytes), 0) << mebibytes << " MiB";
  }
}

TEST(output_reserve, knows_what_a_forward_takes) {
  static_cast<void>(sharing());
  for (const step_counts steps : {step_counts{12, 12}, step_counts{12, 1}}) {
    lending_stage stage(output_way::lent, steps);
    EXPECT_EQ(stage.copied_of(20, 12), 0) << steps.of_others;
  }
}

TEST(output_reserve, has_smaller_outputs_lent_behind_larger_ones) {
  static_cast<void>(sharing());
  lending_stage stage(output_way::lent);
  EXPECT_EQ(stage.copied_of(12, 16), 0);
  EXPECT_EQ(stage.copied_of(12, 3) + stage.copied_of(12, 13) + stage.copied_of(12, 16), 0);
}

TEST(output_reserve, without_it_only_some_large_outputs_are_lent) {
  static_cast<void>(sharing());
  lending_stage stage(output_way::laid_out);
  EXPECT_EQ(stage.copied_of(30, 4), 0) << "they share allocations";
  lending_stage large(output_way::laid_out);
  EXPECT_EQ(large.copied_of(30, 16), 30 - limits::ipc_full_allocations_max);
}

}  // namespace
}  // namespace troupe
