#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "messages/limits.hpp"
#include "messages/worker.hpp"
#include "runtime/flow/stage_body.hpp"
#include "runtime/inject/armed_faults.hpp"
#include "runtime/inject/fault_clock.hpp"
#include "runtime/inject/fault_record.hpp"
#include "runtime/inject/faulty_link.hpp"
#include "runtime/inject/full_disk.hpp"
#include "runtime/journal/journal_tail.hpp"
#include "runtime/ledger/call_fold.hpp"
#include "runtime/ledger/micro_batch_source.hpp"
#include "runtime/process/hosted_worker.hpp"
#include "runtime/telemetry/shared_page.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe {

/// What a loss has cost: the run is whole again, or its last call has ended before.
struct recovery_note {
  /// Nothing: the actor of the loader or of the aggregator was lost, or edges between stages that live.
  std::optional<stage_address> stage;
  /// The worker that was lost.
  std::optional<std::uint32_t> rank = std::nullopt;
  /// Since the loss.
  std::chrono::nanoseconds took{0};
  bool is_whole = true;
  std::uint64_t sent_again = 0;
  /// Results that came a second time, until now.
  std::uint64_t dropped_so_far = 0;
};

/// Injects a plan into one run, in its driver: hands workers the faults that they inject into themselves, wraps what
/// the others need, and keeps the record. A run without a plan has none of these objects. Threads: any.
class fault_injector : public std::enable_shared_from_this<fault_injector> {
 public:
  struct actions {
    /// Ends the actor of the loader, or of the aggregator.
    std::function<void(fault_target_kind which)> end_actor;
    /// Ends this process without a word.
    std::function<void()> end_driver;
    /// Has it done to the agent or node. False: the node is lost, and there is nothing to hit.
    std::function<bool(const fault& what)> hurt_node = {};
  };

  /// `plan` fits `shape`. A signal waits for a process for `patience`. E0614.
  [[nodiscard]] static expected<std::shared_ptr<fault_injector>> start(
      fault_plan plan, fault_shape shape, log_function log,
      std::chrono::milliseconds patience = limits::fault_target_patience);
  fault_injector(const fault_injector&) = delete;
  fault_injector& operator=(const fault_injector&) = delete;

  /// Before the first call.
  void act_by(actions how) { actions_ = std::move(how); }
  /// Nothing is injected by this process any more.
  void stop() { clock_.stop(); }
  /// After it: keeps no worker any more, as their hosts end.
  void forget_workers();

  // --- decorators ---

  [[nodiscard]] engine_body wrap(stage_address at, engine_body body);
  [[nodiscard]] std::shared_ptr<micro_batch_source> wrap(std::shared_ptr<micro_batch_source> source,
                                                         std::uint64_t first);
  /// The fold of the first sink.
  [[nodiscard]] std::shared_ptr<call_fold> wrap(std::shared_ptr<call_fold> fold);
  /// Where decisions about steps are kept; null: nowhere.
  [[nodiscard]] std::shared_ptr<journal_appender> wrap(std::shared_ptr<journal_appender> journal);
  /// Edges to workers whose consumers are in this process. Says of all that they may lose their ends.
  [[nodiscard]] std::shared_ptr<transport> wrap(std::shared_ptr<transport> edges, const wiring_plan& plan);
  /// local_host_options::around_link; null where no fault is for control messages. Those of workers on other nodes are
  /// injected there (assigned_control_faults).
  [[nodiscard]] std::function<std::shared_ptr<message_link>(std::shared_ptr<message_link>,
                                                            const std::shared_ptr<engine_page>&)>
  around_links();
  /// Below the journal; null where no fault is for it.
  [[nodiscard]] std::shared_ptr<full_disk> disk() const noexcept { return disk_; }

  // --- workers ---

  void started(const hosted_worker_ptr& worker);
  /// Those of the stage, of its edges and of the worker that the run has not spent. What the worker injects is noted
  /// from now on, and where it needs the run's start it is told with run_begun.
  [[nodiscard]] std::vector<assigned_fault> assign(stage_address at, const hosted_worker_ptr& worker);
  /// Notes what workers have injected since.
  void look();

  // --- the record ---

  /// What the ledger drops from now on until the next one counts for the same fault.
  void recovered(const recovery_note& note);
  /// At the end of a call: recovery_note::dropped_so_far.
  void dropped(std::uint64_t so_far);
  [[nodiscard]] const fault_record& record() const noexcept { return record_; }

 private:
  struct watched_worker {
    stage_address at;
    hosted_worker_ptr worker;
    /// Null where it shares no memory with this process.
    std::shared_ptr<engine_page> page;
    std::uint64_t given = 0;
    /// It injects something at a time of the run.
    bool needs_time = false;
    std::uint64_t seen = 0;
  };

  fault_injector(fault_plan plan, fault_shape shape, log_function log, std::chrono::milliseconds patience);
  void arm();
  [[nodiscard]] const std::vector<fault>& faults() const noexcept { return record_.plan().faults(); }
  [[nodiscard]] bool hits(const fault& one, stage_address at, std::optional<std::uint32_t> rank) const;
  [[nodiscard]] bool takes_worker(const fault& one, stage_address at, const hosted_worker& worker) const;
  [[nodiscard]] bool was_over(std::size_t number, const fault_record::entry& known,
                              std::chrono::nanoseconds since_loss) const;
  [[nodiscard]] std::optional<micro_batch_id> first_hit(std::size_t number, const engine_page* page) const;
  [[nodiscard]] hosted_worker_ptr lost_worker(const recovery_note& note);
  [[nodiscard]] std::optional<std::size_t> blame(const recovery_note& note, const hosted_worker_ptr& lost) const;
  void hurt_node(std::size_t number, std::optional<micro_batch_id> at = std::nullopt);
  [[nodiscard]] bool touches(const fault& one, stage_address at) const;
  void loaded(std::uint64_t index);
  void folded(micro_batch_id id);
  void begin();
  void act(std::size_t number);
  void signal(std::size_t number, std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] hosted_worker_ptr find(const fault_target& who);
  void act_at_micro_batch(fault_target_kind who, micro_batch_id at);
  void act_at_decision(fault_trigger_kind moment, const step_decision& decision);

  fault_record record_;
  const fault_shape shape_;
  const std::chrono::milliseconds patience_;
  const std::shared_ptr<full_disk> disk_;
  armed_faults armed_;
  actions actions_;
  std::mutex mutex_;
  std::map<std::uint32_t, hosted_worker_ptr> started_;
  /// By stage replica, the newest last.
  std::vector<watched_worker> watched_;
  /// The fault of the last recovery; nothing: none was to blame.
  std::optional<std::size_t> priced_last_;
  std::uint64_t dropped_seen_ = 0;
  bool forgets_ = false;
  /// Last: their threads use the others. Late messages still arrive while the run ends, after stop().
  fault_clock late_messages_;
  fault_clock clock_;
};

}  // namespace troupe
