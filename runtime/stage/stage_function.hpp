#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <c10/core/ScalarType.h>

#include "messages/ids.hpp"
#include "runtime/tensor/named_tensors.hpp"

namespace troupe {

/// Which copy of which stage a function is.
struct stage_context {
  std::string name;
  std::uint32_t replica = 0;
  std::uint32_t replicas = 1;
  /// Intra-op threads, set for the thread that calls the function.
  std::uint32_t threads = 1;
  /// What floating-point inputs are cast to, if anything.
  std::optional<c10::ScalarType> dtype = std::nullopt;
};

/// Which samples a call of run() is about.
struct micro_batch_info {
  micro_batch_id id;
  /// Of the data set. The part holds all of them, or those at `rows` (behind a route).
  sample_range samples;
  row_set_ptr rows = nullptr;
};

/// The contract of a stage: what you write to put a step of your own between a source and a sink.
///
/// Life: made by its factory once per replica, before the run starts; start() once, in the stage's thread, before the
///   first run(); run() once per micro-batch (once more if it failed); destroyed after the run, in any thread. Before
///   all that the factory makes one more object, for replica 0, through which the first micro-batch goes: what cannot
///   work is found before anything starts. If any stage of the run lives in a worker process, that happens in another
///   process. A stage given as one object (std::make_shared) is that object both times where all is in one process.
/// Thread: start() and run() of one object are called from one thread, one at a time, under c10::InferenceMode.
///   Replicas have an object and a thread each; what their factory lets them share is theirs to guard.
/// Input: belongs to the edge it came on. Keep no tensor of it beyond the call, nor a view of one: clone what you keep.
///   With may_write_input() the tensors are copies of yours to write; without, others read the same memory.
/// Output: tensors of any number, dtype and shape, which may change from one micro-batch to the next; row k belongs to
///   sample k of the input wherever it is scored, routed or joined. A tensor that shares storage with the input is
///   copied. A stage with several outputs names each tensor after the output that it is for.
/// State: you may keep what does not change a result: weights, caches, statistics, random generators seeded by the
///   micro-batch's id. The same input must give the same output, since a micro-batch may be run again (a retry; a
///   replay after a death), and by another replica.
/// Errors: an exception of any type fails the attempt; after limits::forward_attempts_max of them the call fails with
///   E0602, naming stage, micro-batch, samples and what(). The stage itself lives on, and takes the next call. An
///   exception out of start() ends the run.
/// Stop: there is none in the middle of run(): a stop waits for it (limits::stop_timeout). So do not block without a
///   deadline: no lock, socket or queue that may never come; and do not end threads or the process.
/// Empty parts (a route sent no sample this way) never reach a function.
class stage_function {
 public:
  stage_function() = default;
  stage_function(const stage_function&) = delete;
  stage_function& operator=(const stage_function&) = delete;
  virtual ~stage_function() = default;

  virtual void start(const stage_context& context) { static_cast<void>(context); }

  /// A stage with one input gets the tensors as they were sent. With several, the tensor without a name that came by
  /// input `p` is called "p", and one called "t" is "p.t".
  [[nodiscard]] virtual named_tensors run(const named_tensors& inputs, const micro_batch_info& which) = 0;

  /// Whether run() may write into its inputs (in-place operations): costs a copy of them. Say false where it does not.
  [[nodiscard]] virtual bool may_write_input() const noexcept { return true; }
};

/// Called once per replica, before the run, on the thread that prepares it.
using stage_factory = std::function<std::shared_ptr<stage_function>(const stage_context&)>;

/// A callable as a stage: at::Tensor(const at::Tensor&), named_tensors(const named_tensors&), or either with a
/// micro_batch_info behind. Every replica gets a copy of it.
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

/// A torch::nn module (or anything held by pointer with forward(at::Tensor)). Put it into eval mode; replicas of a
/// stage that was given one object share it.
template <class Holder>
auto nn_module(Holder module) {
  return [module](const at::Tensor& input) mutable -> at::Tensor { return module->forward(input); };
}

}  // namespace troupe
