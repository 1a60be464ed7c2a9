#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <caf/scheduler/test_coordinator.hpp>

#include "actors/workers/remote_stage.hpp"
#include "tests/actors/workers/fake_host.hpp"

namespace troupe::testing {

/// What the actors have told.
struct director_news {
  std::vector<stage_lost> lost;
  std::vector<failure> failures;
};

/// The production pool and actors in one thread and virtual time, over a host without processes: the test says what
/// becomes of its workers.
class fake_workers {
 public:
  explicit fake_workers(std::uint32_t stages);
  ~fake_workers();
  fake_workers(const fake_workers&) = delete;
  fake_workers& operator=(const fake_workers&) = delete;

  using worker = fake_host::member;
  /// In the order of their starts.
  [[nodiscard]] std::deque<worker>& all() { return host_->members; }
  [[nodiscard]] std::size_t alive() const;
  [[nodiscard]] fake_host& host() { return *host_; }
  [[nodiscard]] fake_host& second_host() { return *second_host_; }
  /// Where the next worker of any stage is to live.
  enum class place : std::uint8_t { first, second, none };
  void next_live_on(place where) { place_ = where; }
  [[nodiscard]] worker& newest() { return all().back(); }

  void says_hello(worker& one);
  /// The process is gone, and its host tells it.
  void ends(worker& one, exit_kind kind, int value);
  void is_shot(worker& one);
  /// The worker that sits there begins to become the stage.
  void begins(stage_address at);
  /// The run drains or aborts.
  void is_told_to_stop(stage_address at);
  /// The one that was assigned there last.
  [[nodiscard]] hosted_worker_ptr worker_of(stage_address at) const;

  /// All actors have done what they were told.
  void settle() { scheduler().run(); }
  /// Passes in one leap, as after a freeze.
  void freeze(std::chrono::nanoseconds time);
  /// Passes in steps that are shorter than what anybody waits for.
  void pass(std::chrono::nanoseconds time);
  /// The link of this worker breaks.
  void breaks_link(worker& one);

  [[nodiscard]] const director_news& news() const { return *news_; }
  /// What was logged of workers.
  [[nodiscard]] const std::vector<std::string>& log() const { return log_; }
  [[nodiscard]] const worker_setup& setup() const { return *setup_; }

 private:
  struct testing_config : caf::actor_system_config {
    testing_config() { set("scheduler.policy", caf::atom("testing")); }
  };
  caf::scheduler::test_coordinator& scheduler();
  [[nodiscard]] expected<worker_pool_actor> pool_of_now() const;

  place place_ = place::first;
  std::shared_ptr<director_news> news_ = std::make_shared<director_news>();
  std::shared_ptr<worker_setup> setup_ = std::make_shared<worker_setup>();
  std::shared_ptr<worker_registry> registry_ = std::make_shared<worker_registry>();
  std::vector<std::string> log_;
  std::shared_ptr<fake_host> host_ =
      std::make_shared<fake_host>([this](const log_record& record) { log_.push_back(to_string(record)); });
  std::shared_ptr<fake_host> second_host_ = std::make_shared<fake_host>(nullptr);
  testing_config config_;
  caf::actor_system system_{config_};
  director_actor director_;
  worker_pool_actor pool_;
  worker_pool_actor second_pool_;
  std::vector<remote_stage_actor> stage_actors_;
};

}  // namespace troupe::testing
