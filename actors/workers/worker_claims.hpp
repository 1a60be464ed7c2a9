#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/failure.hpp"
#include "messages/lifecycle.hpp"
#include "messages/score_batch.hpp"
#include "messages/training.hpp"
#include "messages/worker.hpp"
#include "runtime/edge/transport.hpp"
#include "runtime/ledger/handed_out.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/topology/wiring_plan.hpp"

namespace troupe {

/// The stage replica that a worker is to be, as its driver knows it. The caller of place_in() fills in `incarnation`,
/// `name` and `loses_ends`.
struct worker_place {
  stage_address address;
  incarnation_number incarnation = 0;
  std::string name;
  /// The sinks that it serves: positions in wiring_plan::sinks.
  std::vector<std::uint32_t> sinks = {};
  /// It may receive or send parts of a micro-batch, which have fewer samples than the micro-batch was sent with.
  bool has_parts = false;
  /// Where the node has wired_node::fixed_replica, the number of its replicas: this one gets only the ids whose index
  /// is `address.replica` modulo this number. Otherwise 1, and it may get any id.
  std::uint32_t replicas = 1;
  /// wiring_plan::trains.
  bool trains = false;
  /// transport::loses_ends().
  bool loses_ends = false;
};
[[nodiscard]] worker_place place_in(const wiring_plan& plan, stage_address at);

/// The untrue field of a message, by name, and why ("score.sink is 77, which is none of its own"); nothing if the
/// message can be true.
using objection = std::optional<std::string>;

/// Compares the messages of a worker with what its driver knows, and finds fields that cannot be true. Numbers that the
/// worker makes itself, such as the states of metrics, are not compared. A late message is true: the scores of calls
/// that have ended or were cancelled, scores that are folded already, and news of an older epoch. The receiver drops
/// them. Threads: one.
class worker_claims {
 public:
  /// `sent` is the loader's. `now` is the clock; the worker cannot have worked before this moment.
  worker_claims(worker_place place, std::shared_ptr<const handed_out> sent, clock_function now = steady_now);

  // --- what the worker is told. Each function is called before the message is sent, so that a fast answer is true. ---

  /// The worker is told to open a call. `words`: by position in wiring_plan::sinks, the number of score::words in a
  /// score with samples. For a sink without an element in `words` the number is not compared.
  void told_call(call_number call, std::vector<std::size_t> words);
  /// The call has ended or was cancelled, and the number of words of its scores is not compared any more. Has no effect
  /// for a call that the worker was never told of.
  void told_end(call_number call);
  /// The worker is told of the edges of an epoch. `to_workers`: those of them (positions in wiring_plan::channels)
  /// whose other end is in another worker. Epochs ascend.
  void told_epoch(epoch_number epoch, std::set<std::size_t> to_workers = {}) {
    epoch_ = epoch;
    to_workers_ = std::move(to_workers);
  }
  /// The worker is told to stop.
  void told_to_stop() { stops_ = true; }

  // --- what the worker says ---

  [[nodiscard]] objection to(const stage_ready& said) const;
  /// One untrue score makes the batch untrue.
  [[nodiscard]] objection to(const score_batch& said) const;
  [[nodiscard]] objection to(const step_vote& said) const;
  [[nodiscard]] objection to(const failure& said) const;
  [[nodiscard]] objection to(const stopped& said) const;
  [[nodiscard]] objection to(const edge_lost& said) const;
  [[nodiscard]] objection to(const edge_damaged& said) const;
  /// True once for each call that the worker was told to open, also if it was told twice.
  [[nodiscard]] objection to(const call_opened& said);

 private:
  [[nodiscard]] objection to_identity(const char* message, stage_address address, incarnation_number incarnation) const;
  [[nodiscard]] objection to_id(const char* field, micro_batch_id id, handed_out::micro_batch found) const;
  [[nodiscard]] objection to_score(const score& said) const;
  [[nodiscard]] objection to_samples(const score& said, handed_out::micro_batch found) const;
  [[nodiscard]] objection to_words(const score& said) const;

  const worker_place place_;
  const std::shared_ptr<const handed_out> sent_;
  const clock_function now_;
  const std::chrono::nanoseconds since_;
  std::map<call_number, std::vector<std::size_t>> words_;
  std::set<call_number> to_open_;
  epoch_number epoch_ = 0;
  std::set<std::size_t> to_workers_;
  bool stops_ = false;
};

/// What the driver knows of a worker before it has become a stage.
struct hello_facts {
  /// hosted_worker::pid().
  std::optional<std::uint32_t> pid;
  /// The transport of this run; not null.
  const transport* edges = nullptr;
  /// The process has not said hello yet.
  bool is_first = true;
};
[[nodiscard]] objection objection_to(const worker_hello& said, const hello_facts& known);

/// The reason for which a worker is killed, made of an objection to its message.
[[nodiscard]] std::string false_claim(const std::string& wrong);

}  // namespace troupe
