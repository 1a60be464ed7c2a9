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
#include "messages/worker.hpp"
#include "runtime/engine/handed_out.hpp"
#include "runtime/engine/stage_engine.hpp"
#include "runtime/topology/wiring_plan.hpp"

namespace troupe {

/// Which stage replica a worker has become, as its driver knows it.
struct worker_place {
  stage_address address;
  incarnation_number incarnation = 0;
  std::string name;
  /// The sinks that it serves.
  std::vector<std::uint32_t> sinks = {};
  /// It may be given parts of a micro-batch, or makes them.
  bool has_parts = false;
  /// It is given the ids whose index is `address.replica` modulo this alone; 1: any.
  std::uint32_t replicas = 1;
  bool has_tcp_edges = false;
};
[[nodiscard]] worker_place place_in(const wiring_plan& plan, stage_address at);

/// The untrue field of a message, by name, and why; nothing if the message can be true.
using objection = std::optional<std::string>;

/// Holds the messages of a worker against the knowledge of its driver: the border that no lie passes. Numbers that it
/// makes itself, such as the states of metrics, are its own. A late message is no lie: scores of calls that have ended
/// or were cancelled, and those that are folded already, are true, and dropped where they are dropped anyway.
/// Threads: one.
class worker_claims {
 public:
  /// `sent` is the loader's. `now`: from here on it can have worked.
  worker_claims(worker_place place, std::shared_ptr<const handed_out> sent, clock_function now = steady_now);

  // --- what it was told ---

  /// To open a call; `words` by sink: of a score with samples; empty: not known.
  void told_call(call_number call, std::vector<std::size_t> words);
  /// The call has ended, or was cancelled.
  void told_end(call_number call);
  /// New edges, and which of them end in another worker. Epochs ascend.
  void told_epoch(epoch_number epoch, std::set<std::size_t> to_workers = {}) {
    epoch_ = epoch;
    to_workers_ = std::move(to_workers);
  }
  /// To stop, or that the run drains.
  void told_to_stop() { stops_ = true; }

  // --- what it says ---

  [[nodiscard]] objection to(const stage_ready& said) const;
  [[nodiscard]] objection to(const score_batch& said) const;
  [[nodiscard]] objection to(const failure& said) const;
  [[nodiscard]] objection to(const stopped& said) const;
  [[nodiscard]] objection to(const edge_lost& said) const;
  [[nodiscard]] objection to(const edge_damaged& said) const;
  /// Each call is opened once.
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

/// What the driver knows of a process before it has become anything.
struct hello_facts {
  /// Nothing: it has ended.
  std::optional<std::int64_t> pid;
  bool has_tcp_edges = false;
  bool is_first = true;
};
[[nodiscard]] objection objection_to(const worker_hello& said, const hello_facts& known);

/// Why a worker with such a message is killed.
[[nodiscard]] std::string lie(const std::string& wrong);

}  // namespace troupe
