#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/payload.hpp"
#include "messages/training.hpp"
#include "runtime/optimizer/gradient_tree.hpp"
#include "runtime/optimizer/parameter_blocks.hpp"
#include "runtime/optimizer/parameter_layout.hpp"
#include "runtime/optimizer/parameter_memory.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>
#include <troupe/named_tensors.hpp>

namespace troupe {

/// The weights of one stage replica, what the optimizer keeps of them, and the gradient of the step. All numbers of a
/// training step but those of autograd (docs/decisions/0044 and 0045).
///
/// Weights, moments, buffers and the finished gradient are in one block of memory (`parameter_layout`). It is this
/// object's own, or given; given memory that another process has mapped as well outlives this process, and adopt() goes
/// on there. The weights have two versions in it, of which one is current: apply() writes the other one and makes it
/// current with one store, so that a process which adopts the memory finds the version before or after a step, whole.
/// Given memory that begins with a page is read-only outside of finish(), apply() and restore() if that is asked for: a
/// write to it is a SIGSEGV.
///
/// Bits: the kernels give the same ones on each x86-64 processor and with each number of threads.
///
/// Threads: one at a time. Kernels of large tensors use the caller's team (at::parallel_for).
class trained_parameters {
 public:
  /// Writes the values, which lie on the CPU, and zero moments. Step 0, nothing finished. `memory`: empty for memory of
  /// its own; otherwise at least layout.bytes() bytes at a multiple of 64 that outlive this object. E0614 where the
  /// system gives no memory, or the given memory is too small.
  [[nodiscard]] static expected<std::unique_ptr<trained_parameters>> create(parameter_layout layout,
                                                                            const named_tensors& parameters,
                                                                            const named_tensors& buffers,
                                                                            std::span<std::byte> memory = {},
                                                                            bool protects = true);
  /// Goes on where another object of the same layout, which does not exist any more, has left the memory. E0620 where
  /// it holds no weights, or those of another layout.
  [[nodiscard]] static expected<std::unique_ptr<trained_parameters>> adopt(parameter_layout layout,
                                                                           std::span<std::byte> memory,
                                                                           bool protects = true);

  /// Whether adopt() would find weights there, be they of this layout or of another.
  [[nodiscard]] static bool holds_state(std::span<const std::byte> memory) noexcept {
    return parameter_memory::holds_state(memory);
  }

  [[nodiscard]] const parameter_layout& layout() const noexcept { return memory_.layout(); }

  /// Views of the current version, in the order of the layout, without requires_grad. They must not be written to. The
  /// tensors of one version are always the same objects. What was taken before apply() or restore() is to be taken anew
  /// after it. They end with this object, or with the given memory.
  [[nodiscard]] const at::Tensor& weight(std::size_t parameter) const { return current().weights[parameter]; }
  [[nodiscard]] const at::Tensor& buffer(std::size_t buffer) const { return current().buffers[buffer]; }
  [[nodiscard]] const at::Tensor& moment(std::size_t moment, std::size_t parameter) const {
    return current().moments[moment][parameter];
  }
  /// 0 or 1: which one is current.
  [[nodiscard]] std::size_t version() const noexcept { return memory_.current(); }

  /// The optimizer's steps that were carried out in the life of the weights; a decision has this number as its step.
  [[nodiscard]] std::uint64_t step() const noexcept { return memory_.state().step; }
  /// The call of the last decision that was carried out.
  [[nodiscard]] std::optional<call_number> decided_call() const noexcept { return memory_.decided(); }
  /// The call whose gradient is here and waits for its decision.
  [[nodiscard]] std::optional<call_number> finished_call() const noexcept;
  /// View of the finished gradient, undivided.
  [[nodiscard]] const at::Tensor& gradient(std::size_t parameter) const { return gradients_[parameter]; }

  /// Adds the gradient of one micro-batch to the step's sums: a tensor for each of the layout's sums() with its shape
  /// and type; an undefined one is zero. `leaf` (runtime/ledger/step_layout.hpp) ascends within a step; `id` names the
  /// micro-batch in errors. The tensors are not kept.
  void add_gradient(std::uint64_t leaf, micro_batch_id id, std::span<const at::Tensor> gradients);
  /// The sums of what was added since the last finish() or drop(), for the other replicas: a tensor set of one tensor,
  /// which has the bytes of all as the layout has them. Null where nothing was added. More can be added after drop()
  /// alone.
  [[nodiscard]] payload_ptr sum();
  /// Those of the tied parameters that other stages have, too, for these stages; null where there are none.
  [[nodiscard]] payload_ptr tied_sums();
  /// Keeps the gradient of the step in the memory and fills squared_norms, state_hash and not_finite (E0619: parameter
  /// and micro-batch). `sums`: those of all replicas in their order, null for one without micro-batches, this one's
  /// among them; empty where the stage has one replica. `tied`: what tied_sums() gave at the replicas of the other
  /// stages with which this one shares parameters, the replicas of a stage together and in their order. `buffers`: the
  /// values after the step, for each buffer of the layout; empty: as they are. They become current with the decision.
  /// E0702 for a sum of another size, and for places of tied parameters of which not each comes once.
  [[nodiscard]] expected<void> finish(call_number call, std::span<const payload_ptr> sums,
                                      std::span<const payload_ptr> tied, std::span<const at::Tensor> buffers,
                                      step_vote& into);
  /// Carries the decision out; without effect where its call, or a later one, was decided before. E0620 where the
  /// gradient of its call is not here.
  [[nodiscard]] expected<void> apply(const step_decision& decision);
  /// Lets go of the unfinished sum. A finished gradient stays.
  void drop() noexcept;

  /// Sets what a checkpoint has: values for each parameter, for each moment and parameter (empty: zero), for each
  /// buffer (empty: as they are), on the CPU. A finished gradient is gone.
  [[nodiscard]] expected<void> restore(std::span<const at::Tensor> weights,
                                       std::span<const std::vector<at::Tensor>> moments,
                                       std::span<const at::Tensor> buffers, std::uint64_t step);

 private:
  struct half_views {
    std::vector<at::Tensor> weights = {};
    std::vector<at::Tensor> buffers = {};
    std::vector<std::vector<at::Tensor>> moments = {};
  };

  explicit trained_parameters(parameter_memory memory);

  [[nodiscard]] const half_views& current() const { return halves_[memory_.current()]; }
  void write_buffers(std::size_t half, std::span<const at::Tensor> values);
  void update(const step_decision& decision);
  [[nodiscard]] std::optional<error> not_finite(std::optional<std::size_t> in_finish, call_number call) const;

  parameter_memory memory_;
  std::vector<parameter_block> blocks_;
  std::array<half_views, 2> halves_ = {};
  std::vector<at::Tensor> gradients_;
  gradient_tree tree_;
};

}  // namespace troupe
