#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <caf/scheduler/test_coordinator.hpp>

#include "actors/workers/worker_actor.hpp"
#include "messages/check.hpp"
#include "runtime/flow/compute_engine.hpp"
#include "runtime/link/message_link.hpp"
#include "runtime/process/worker_host.hpp"
#include "runtime/trace/trace_recorder.hpp"
#include "testing/simulation/hash_body.hpp"
#include "testing/simulation/hash_training.hpp"
#include "testing/simulation/left_behind.hpp"
#include "testing/simulation/plan.hpp"
#include "testing/simulation/stepped_engines.hpp"
#include "testing/simulation/timeline.hpp"
#include "testing/simulation/wires.hpp"

namespace troupe::simulation {

class simulated_process;

/// What the stages of a run without faults did, as trace_recorder orders it; empty where the plan has faults.
struct run_trace {
  trace_clock clock;
  std::vector<trace_event> events;

  /// Of engines that are not stepped again.
  void keep(const stepped_engines& of) {
    for (const stepped_engines::entry& each : of.entries) {
      const auto* stage = dynamic_cast<const compute_engine*>(each.driven.get());
      if (stage == nullptr || stage->trace() == nullptr) continue;
      TROUPE_CHECK(stage->trace()->dropped() == 0, "plans are shorter than a recorder is long");
      events.insert(events.end(), stage->trace()->events().begin(), stage->trace()->events().end());
    }
  }
};

/// What all workers of one driver have in common. Outlives them.
struct worker_surroundings {
  /// With its graph.
  const plan& what;
  caf::actor_system& system;
  const nanoseconds& now;
  timeline& later;
  recorder& seen;
  chance& random;
  wire_network& network;
  /// Of the run, as a worker finds it out by itself.
  wiring_plan wiring;
  std::shared_ptr<engine_page> loader_page;
  /// Stands for the pages of all workers, and for the memory of all edges (plan::hands_over_edges).
  std::optional<blob> memory = std::nullopt;
  nanoseconds silence{0};
  /// Faults that wait for their micro-batch or their stage; those that strike once are erased.
  std::vector<fault>& armed;
  left_behind& left;
  run_trace& trace;
  /// Where the plan trains.
  weights_by_stage weights = {};

  [[nodiscard]] caf::scheduler::test_coordinator& scheduler() const {
    return static_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  }
};

/// One end of a link, as the message_link above it has it.
class simulated_link_end final : public message_link {
 public:
  explicit simulated_link_end(std::function<void(codec::bytes)> out) : out_(std::move(out)) {}
  void start(link_events above) override { events = std::move(above); }
  void send(codec::bytes message) override { out_(std::move(message)); }
  [[nodiscard]] std::size_t queued_bytes() const override { return 0; }
  void peer_has_ended(std::function<void()>) override {}
  void close() override { events = {}; }

  link_events events;

 private:
  const std::function<void(codec::bytes)> out_;
};

/// A worker process without a process: the production actor and engine of a worker, in the thread of the run, behind a
/// link that carries the real bytes with delays, and in order unless a fault disturbs it.
///
///   booting --boot()--> running <--freeze(), thaw()--> frozen;   any of them --die()--> dead
///
/// A dead process has had its last effect: nothing more goes out, but for a part of what was on the way.
class simulated_process final : public worker_process, public forward_surroundings {
 public:
  simulated_process(std::uint32_t number, worker_surroundings& around, std::shared_ptr<worker_listener> listener);
  ~simulated_process() override;

  static constexpr std::uint32_t first_pid = 1000;
  /// As its driver has it; set once.
  std::weak_ptr<hosted_worker> as_seen;

  // --- what the driver does ---
  /// The driver's end of its link.
  [[nodiscard]] const std::shared_ptr<message_link>& link() const noexcept { return to_worker_; }
  /// The driver is about to tell it to become this stage.
  void is_meant_for(stage_address at);
  void take_blob(const std::string& tag);
  [[nodiscard]] const std::optional<blob>& page_memory() const noexcept { return around_.memory; }
  [[nodiscard]] stage_telemetry telemetry() const;
  void kill_soon();

  // --- what happens to it ---
  void boot();
  void step_engine(stepped_engines::entry& each);
  void die(exit_cause why, exit_kind kind, int value, const std::string& last_words = {});
  void freeze(nanoseconds time);
  void lose_link();

  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] bool lives() const noexcept { return state_->lives; }
  [[nodiscard]] bool has_booted() const noexcept { return has_booted_; }
  [[nodiscard]] bool is_frozen() const noexcept { return frozen_times_ > 0; }
  [[nodiscard]] const std::optional<worker_assignment>& assignment() const noexcept { return assignment_; }
  [[nodiscard]] stepped_engines& stepped() noexcept { return engines_; }

  // --- what its code has ---
  [[nodiscard]] std::uint32_t pid() const override { return first_pid + number_; }
  [[nodiscard]] expected<void> ensure_threads(std::uint32_t) override { return {}; }
  [[nodiscard]] expected<std::vector<unique_fd>> take(const std::string& tag, std::size_t count) override;
  [[nodiscard]] expected<std::shared_ptr<engine_page>> take_page(const std::string& tag) override;
  [[nodiscard]] engine_host& engines() override { return engines_; }
  [[noreturn]] void end(const error& cause) override;

  void begin_forward(stage_index stage, micro_batch_id id) override;
  void end_forward(micro_batch_id id, std::uint64_t word, std::uint64_t samples) override;
  void code_threw(micro_batch_id id, std::string why) override {
    note(happening::code_threw, {.call = id.call, .index = id.index});
    around_.seen.thrown = std::move(why);
  }

 private:
  void note(happening what, event more = {});
  void go_down(codec::bytes message);
  void go_up(codec::bytes message);
  void put_on_way(codec::bytes message, nanoseconds& last, const std::function<void(codec::bytes)>& arrive);
  void arrive_from_driver();
  void find_blobs(std::uint64_t number);
  void obey(codec::bytes message);
  void hear(codec::bytes message);
  void deliver_late_scores();
  [[nodiscard]] bool is_hit(fault_kind by) const;
  [[nodiscard]] bool is_lost_by_plan(std::span<const std::byte> message) const;
  void beat_soon();
  void beat();
  void run_actor();
  void tidy_up();
  void thaw();
  void be_unlinked();
  [[nodiscard]] bool crashes_now() const;
  [[nodiscard]] bool hangs_now();
  [[nodiscard]] worker_description describe_run();

  const std::uint32_t number_;
  worker_surroundings& around_;
  const std::shared_ptr<worker_listener> listener_;
  const std::shared_ptr<process_state> state_ = std::make_shared<process_state>();
  std::shared_ptr<engine_page> page_ = std::make_shared<engine_page>();
  std::optional<stage_telemetry> last_telemetry_;
  stepped_engines engines_;
  worker_actor_type actor_;
  /// Handed over behind so many messages; it comes with the next one, or by itself when it is due.
  struct coming_blob {
    std::string tag;
    std::uint64_t behind = 0;
    nanoseconds due{0};
  };
  std::vector<coming_blob> coming_;
  std::set<std::string> blobs_;
  std::optional<worker_assignment> assignment_;
  bool has_booted_ = false;
  bool is_unlinked_ = false;
  bool is_end_told_ = false;
  bool is_inside_ = false;
  /// Its link's thread lives, and no other does anything any more.
  bool is_hung_ = false;
  std::uint32_t frozen_times_ = 0;
  std::uint64_t freezes_ = 0;
  std::string last_words_;
  nanoseconds forward_took_{0};
  /// In which it ends.
  std::optional<micro_batch_id> last_forward_;
  std::optional<stage_address> meant_for_;
  const std::shared_ptr<simulated_link_end> below_worker_;
  const std::shared_ptr<simulated_link_end> below_driver_;
  const std::shared_ptr<message_link> to_worker_;
  struct numbered_bytes {
    std::uint64_t number = 0;
    codec::bytes message;
  };
  /// Arrived, and not read yet.
  std::deque<numbered_bytes> waiting_;
  std::uint64_t sent_down_ = 0;
  nanoseconds last_down_{0};
  nanoseconds last_up_{0};
  std::uint64_t sent_up_ = 0;
  std::uint64_t arrived_up_ = 0;
  /// With its death the rest is lost.
  std::uint64_t arrives_up_ = ~std::uint64_t{0};
  std::uint32_t beats_left_ = 0;
  bool is_beating_ = false;
  std::array<codec::bytes, 4> last_messages_;
};

/// The driver's handle of a simulated_process.
class simulated_worker final : public hosted_worker {
 public:
  simulated_worker(std::uint32_t rank, log_function log, std::unique_ptr<simulated_process> process)
      : hosted_worker("worker " + std::to_string(rank), rank, std::move(log)), process_(std::move(process)) {}

  [[nodiscard]] std::string place() const override { return "process " + std::to_string(process_->pid()); }
  [[nodiscard]] std::optional<std::uint32_t> pid() const override { return process_->pid(); }
  ~simulated_worker() override { process_->link()->close(); }
  void send(codec::bytes message) override;
  [[nodiscard]] expected<void> hand_over(const std::string& name, std::span<const blob>) override {
    if (!process_->lives()) return fail(error_code::process_failed, hosted_worker::name(), "it takes nothing");
    process_->take_blob(name);
    return {};
  }
  [[nodiscard]] stage_telemetry telemetry() const override { return process_->telemetry(); }
  [[nodiscard]] std::optional<blob> page() const override { return process_->page_memory(); }
  [[nodiscard]] simulated_process& process() noexcept { return *process_; }

 private:
  void end_now() override { process_->kill_soon(); }
  const std::unique_ptr<simulated_process> process_;
};

}  // namespace troupe::simulation
