#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <troupe/ids.hpp>
#include <troupe/named_tensors.hpp>

namespace troupe {

/// Identity and settings of one replica of a stage.
struct stage_context {
  std::string name;
  std::uint32_t replica = 0;
  std::uint32_t replicas = 1;
  /// Intra-op threads, set for the thread that calls the function.
  std::uint32_t threads = 1;
  /// The dtype that floating-point inputs are cast to. Not set: no cast.
  std::optional<c10::ScalarType> dtype = std::nullopt;
  /// Where inputs arrive and outputs are expected. start(), or the factory, moves the weights there.
  c10::Device device = c10::DeviceType::CPU;
};

/// The samples of one call of run().
struct micro_batch_info {
  micro_batch_id id;
  /// Range in the data set. The call has all samples of the range, or behind a route those at `rows`.
  sample_range samples;
  row_set_ptr rows = nullptr;
};

/// The contract of a stage. Derive from this class to put a step of your own between a source and a sink.
///
/// Life: the factory makes one object per replica before the run. start() is called once in the stage's thread, then
///   run() once per micro-batch (once more after a failure). The object is destroyed after the run, in any thread.
///   Before the run the factory makes one more object, for replica 0, and the first micro-batch passes it, so that
///   faults are found before the start; if any stage of the run has a worker process, this try-out has a process of
///   its own. A stage given as one object (std::make_shared) is used for both if all stages are in one process.
/// Thread: start() and run() of one object are called from one thread under c10::InferenceMode. Each replica has an
///   object and a thread. Data that a factory shares between replicas needs a lock of its own.
/// Input: the tensors belong to the edge. Clone tensors, and views, that you keep beyond the call. With
///   may_write_input() the tensors are copies that run() may write; without it other stages read the same memory.
/// Device: kernels of a stage on an accelerator go to its own stream, which is current during start() and run(). run()
///   returns before they are done; a value that the host reads (item()) waits for them, so avoid it.
/// Output: tensors of any number, dtype and shape, which may differ between micro-batches. Row k belongs to sample k of
///   the input wherever samples are scored, routed or joined. A tensor to whose memory something else refers, such as
///   the input or a buffer that the stage keeps, is copied.
///   A stage with several outputs names each tensor after its output.
/// State: an object may keep state that does not change a result: weights, caches, statistics, random generators
///   seeded by the micro-batch's id. Equal inputs must give equal outputs, because a micro-batch may run again (retry,
///   replay after a death), also in another replica.
/// Errors: an exception of any type fails the attempt. After limits::forward_attempts_max attempts the call fails with
///   E0602, which names stage, micro-batch, samples and what(). The stage takes the next call. An exception from
///   start() ends the run with E0602.
/// Stop: a stop waits for run() to return, up to limits::stop_timeout. Do not block without a deadline on a lock,
///   socket or queue, and do not end threads or the process.
/// Empty parts (a route sent no sample here) never reach a function.
class stage_function {
 public:
  stage_function() = default;
  stage_function(const stage_function&) = delete;
  stage_function& operator=(const stage_function&) = delete;
  virtual ~stage_function() = default;

  virtual void start(const stage_context& context) { static_cast<void>(context); }

  /// A stage with one input gets the tensors as they were sent. With several inputs, an unnamed tensor from input `p`
  /// is called "p", and a tensor called "t" is "p.t".
  [[nodiscard]] virtual named_tensors run(const named_tensors& inputs, const micro_batch_info& which) = 0;

  /// Whether run() may write its inputs (in-place operations), which costs a copy. Return false if it never writes.
  [[nodiscard]] virtual bool may_write_input() const noexcept { return true; }
};

/// Called once per replica, before the run, on the thread that prepares it.
using stage_factory = std::function<std::shared_ptr<stage_function>(const stage_context&)>;

/// A callable as a stage: at::Tensor(const at::Tensor&), named_tensors(const named_tensors&), or either with a
/// micro_batch_info behind. Every replica gets a copy.
template <class Callable>
class callable_stage final : public stage_function {
 public:
  explicit callable_stage(Callable call, bool may_write = true) : call_(std::move(call)), may_write_(may_write) {}

  [[nodiscard]] named_tensors run(const named_tensors& inputs, const micro_batch_info& which) override {
    // A tensor converts to named_tensors, so what takes these takes both: it is asked first.
    if constexpr (std::is_invocable_v<Callable&, const named_tensors&, const micro_batch_info&>) {
      return call_(inputs, which);
    } else if constexpr (std::is_invocable_v<Callable&, const named_tensors&>) {
      return call_(inputs);
    } else if constexpr (std::is_invocable_v<Callable&, const at::Tensor&, const micro_batch_info&>) {
      return call_(inputs.only(), which);
    } else {
      return call_(inputs.only());
    }
  }
  [[nodiscard]] bool may_write_input() const noexcept override { return may_write_; }

 private:
  Callable call_;
  bool may_write_;
};

/// A torch::nn module, or a pointer to any object with forward(at::Tensor), as a stage. Put it into eval mode first.
/// All replicas share the one module.
template <class Holder>
auto nn_module(Holder module) {
  return [module](const at::Tensor& input) mutable -> at::Tensor { return module->forward(input); };
}

/// Which samples a case takes: bool [N], row k for sample k of the input, which has all N >= 1 samples of the part,
/// also those that a case before it took. Pure: the same input, the same answer. An exception, or another answer, fails
/// the attempt as in a stage.
using route_predicate = std::function<at::Tensor(const named_tensors& inputs)>;

/// One way out of a route. Without a predicate it takes what no case before it took.
struct route_case {
  /// The output port.
  std::string name;
  route_predicate predicate = nullptr;
};

/// A predicate asked sample by sample: gets every tensor without its dimension 0.
route_predicate for_each_sample(std::function<bool(const named_tensors& sample)> predicate);

}  // namespace troupe
