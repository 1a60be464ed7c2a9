#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "messages/error.hpp"
#include "program/abandoned_threads.hpp"
#include "program/evaluation_hooks.hpp"
#include "program/topology.hpp"
#include "runtime/config/eval_options.hpp"
#include "runtime/report/run_result.hpp"

namespace troupe {

struct prepared_run;

/// How a topology is run.
struct run_options {
  std::uint64_t micro_batch = 64;
  /// Intra-op threads per stage, unless the stage says otherwise; nothing: max(1, cores / stage replicas).
  std::optional<std::uint32_t> threads = std::nullopt;
  /// Evaluate only the first `limit` samples.
  std::optional<std::uint64_t> limit = std::nullopt;
  /// Seconds until the run ends with E0605 and a partial result.
  std::optional<double> deadline = std::nullopt;
  bool trace = false;
  /// Every stage, join and route replica in a worker process of its own; main() has made a troupe::program then.
  bool processes = false;
  transport_kind transport = transport_kind::automatic;
  /// See eval_options; they are for worker processes.
  double worker_timeout = std::chrono::duration<double>(limits::worker_silence_timeout).count();
  double start_deadline = std::chrono::duration<double>(limits::worker_start_deadline).count();
  std::optional<double> forward_deadline = std::nullopt;
};

enum class stop_kind : std::uint8_t {
  drain,  ///< load nothing more, finish what is under way, give the partial result
  now,    ///< drop what is under way, give what is folded already as the partial result
};

/// One evaluation of a model file on a data set, as `troupe eval` does it: load, probe, cut into stages, run, report.
class evaluator {
 public:
  /// Everything that can be wrong with the input is found here, before anything runs: data, model, shapes (one real
  /// sample goes through all layers), partition. `options` are validated. With worker processes the model is tried out
  /// in one, too: E0215 if it takes that process with it. The deadline counts from this call, and E0605 comes here if
  /// it passes; a forward in this process that does not return is then abandoned (has_abandoned_threads). Nothing else
  /// stops this call: a program that must end on a signal while it prepares ends its process.
  [[nodiscard]] static expected<std::unique_ptr<evaluator>> create(const eval_options& options, evaluation_hooks hooks);

  /// The same for a topology of one's own: also its errors are found here, and the first micro-batch goes through every
  /// stage before anything runs (start_topology); if any stage lives in a worker process, all are tried out in one, and
  /// none in this. Of `what` a copy is kept; an abandoned thread may go on using what its callables refer to.
  [[nodiscard]] static expected<std::unique_ptr<evaluator>> create(const topology& what, const run_options& options,
                                                                   evaluation_hooks hooks);

  evaluator(const evaluator&) = delete;
  evaluator& operator=(const evaluator&) = delete;
  ~evaluator();

  /// Once. An error is a failed evaluation; a run that was stopped or ran into its deadline is a result with `partial`
  /// set and E0606 or E0605 in `errors`, behind the cause if it failed meanwhile.
  [[nodiscard]] expected<run_result> run();

  /// From any thread, before or during run(), more than once.
  void request_stop(stop_kind kind) noexcept;

  /// After run(): a stage never came back from its forward, or a hook never returned. Its thread goes on until the
  /// process ends, which must not wait for it: leave by std::_Exit. has_abandoned_threads() says the same of all.
  [[nodiscard]] bool stuck() const noexcept;

 private:
  struct impl;
  explicit evaluator(std::unique_ptr<impl> state);
  using preparation =
      std::function<expected<prepared_run>(const std::function<void(std::string)>& log, const std::stop_token& stop)>;
  [[nodiscard]] static expected<std::unique_ptr<evaluator>> create_with(const eval_options& options,
                                                                        evaluation_hooks hooks,
                                                                        const preparation& prepare);
  std::unique_ptr<impl> impl_;
};

/// Creates an evaluator and runs it.
[[nodiscard]] expected<run_result> run(const topology& what, const run_options& options = {},
                                       evaluation_hooks hooks = {});

}  // namespace troupe
