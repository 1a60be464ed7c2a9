#pragma once

#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "actors/director.hpp"
#include "actors/workers/worker_pool.hpp"
#include "actors/workers/worker_setup.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/step/step_ledger.hpp"
#include "runtime/telemetry/lost_work_watch.hpp"
#include "testing/simulation/simulated_host.hpp"

namespace troupe::simulation {

/// What lives longer than a driver. Outlives its lives.
struct world_parts {
  /// With its graph.
  const plan& what;
  caf::actor_system& system;
  virtual_clock& clock;
  recorder& seen;
  chance& random;
  /// See worker_surroundings::armed.
  std::vector<fault>& armed;
  left_behind& left;
  run_trace& trace;
  std::uint64_t& steps;
};

/// One driver from its start to its end, with its workers: production director, loader, aggregator, pool, and stages in
/// workers, stepped in one thread by a seed. Virtual time goes on when nothing is left to do at its moment.
class driver_life {
 public:
  enum class outcome : std::uint8_t {
    ended,     ///< all calls are answered, and all actors and engines have stopped
    killed,    ///< by a fault
    is_stuck,  ///< it did not end within its bounds
  };
  struct bounds {
    std::uint64_t steps_max = 0;
    nanoseconds time_max{0};
  };

  explicit driver_life(const world_parts& parts);
  ~driver_life();
  driver_life(const driver_life&) = delete;
  driver_life& operator=(const driver_life&) = delete;

  using folds_of_call = std::vector<std::shared_ptr<call_fold>>;
  /// `folds`, `starts`: by call; folds of a call by sink.
  void submit(std::vector<folds_of_call> folds, std::vector<call_start> starts);
  /// Actions for later moments of the virtual time.
  [[nodiscard]] timeline& later() noexcept { return later_; }
  [[nodiscard]] simulated_host& host() noexcept { return *host_; }
  [[nodiscard]] wire_network& network() noexcept { return *network_; }
  [[nodiscard]] worker_surroundings& around() noexcept { return around_; }
  /// Micro-batches that the loader may be ahead.
  [[nodiscard]] std::uint64_t window() const noexcept;
  /// Of the two that can be replaced.
  void kill_actor(bool aggregates);
  /// The user cancels the call.
  void give_up(std::uint64_t call, error_code reason = error_code::interrupted);
  /// The user ends all calls.
  void stop_calls(way_to_stop how);
  /// The driver's process ends: at the next step.
  void kill() noexcept { is_killed_ = true; }

  [[nodiscard]] outcome run(const bounds& within, const std::function<void(bool is_complete)>& when_all_are_answered);

 private:
  struct ready_engine {
    simulated_process* process = nullptr;
    stepped_engines* host = nullptr;
    std::size_t position = 0;
  };

  /// With the weights as they are at first; null where the plan does not train.
  [[nodiscard]] std::shared_ptr<step_ledger> steps_of_training();
  void set_up();
  void direct();
  void meet(const caf::actor& child);
  [[nodiscard]] bool is_ready_still(const ready_engine& found) const;
  [[nodiscard]] bool move();
  [[nodiscard]] bool advance();
  void choose(std::size_t choices, std::size_t jobs, bool has_event);
  template <class Done>
  [[nodiscard]] bool move_until(const bounds& within, Done done);
  void collect_ready();
  void watch_answers();
  void note_given_up(std::uint64_t call, error_code reason);
  void note_cause(std::uint64_t call, const error& cause);
  void poll();
  void note_left();
  void keep_an_end();
  void keep_timers();
  void tidy_up();

  world_parts parts_;
  timeline later_;
  std::optional<wire_network> network_;
  /// Planted.
  std::unique_ptr<edge_producer> kept_end_;
  std::shared_ptr<process_state> own_process_ = std::make_shared<process_state>();
  std::shared_ptr<stepped_engines> own_engines_ = std::make_shared<stepped_engines>();
  std::shared_ptr<worker_setup> setup_ = std::make_shared<worker_setup>();
  std::shared_ptr<worker_registry> registry_ = std::make_shared<worker_registry>();
  worker_surroundings around_;
  std::shared_ptr<simulated_host> host_;
  std::shared_ptr<assembly> engines_;
  std::optional<lost_work_watch> losses_;
  std::vector<call_ticket_ptr> tickets_;
  std::vector<std::future<call_outcome>> outcomes_;
  std::vector<bool> is_answered_;
  bool is_complete_ = true;
  std::vector<ready_engine> ready_;
  std::size_t steps_per_look_ = 0;
  std::size_t steps_until_look_ = 0;
  nanoseconds next_engine_{0};
  bool is_killed_ = false;
  bool is_stopped_ = false;
  worker_pool_actor pool_;
  director_actor director_;
  /// Loaders' actors and aggregators, the newest last.
  std::vector<caf::actor_addr> loaders_;
  std::vector<caf::actor_addr> aggregators_;
};

}  // namespace troupe::simulation
