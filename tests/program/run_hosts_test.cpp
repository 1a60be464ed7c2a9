#include "program/launch/run_hosts.hpp"

#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {
using std::chrono::steady_clock;

/// Its workers are gone at the stop of this number. The director hears of that, and ends the run unless another stage
/// is stuck.
class slow_host final : public worker_host {
 public:
  slow_host(std::size_t gone_at, std::function<void()> end_run) : gone_at_(gone_at), end_run_(std::move(end_run)) {}

  [[nodiscard]] expected<hosted_worker_ptr> start(std::shared_ptr<worker_listener>) override {
    return fail(error_code::engine_stopped, "workers", "the run is stopping");
  }
  void refresh_telemetry(steady_clock::time_point) override {}
  void close() noexcept override { is_closed = true; }
  bool stop(steady_clock::time_point deadline, std::chrono::milliseconds grace) override {
    stops.push_back({deadline, grace});
    if (stops.size() == gone_at_) end_run_();
    return stops.size() >= gone_at_;
  }

  struct stop_seen {
    steady_clock::time_point deadline;
    std::chrono::milliseconds grace;
  };
  bool is_closed = false;
  std::vector<stop_seen> stops;

 private:
  std::size_t gone_at_;
  std::function<void()> end_run_;
};

struct stopping {
  explicit stopping(std::size_t gone_at, bool has_stuck_stage = false)
      : host(std::make_shared<slow_host>(gone_at, [this, has_stuck_stage] {
          if (!has_stuck_stage) run.set_value();
        })) {
    hosts.all.push_back(host);
  }

  std::promise<void> run;
  std::future<void> stopped = run.get_future();
  std::shared_ptr<slow_host> host;
  run_hosts hosts;
};

TEST(killed_workers, that_the_system_ends_late_are_no_stuck_stage) {
  stopping one(2);
  const auto asked = steady_clock::now();
  EXPECT_TRUE(end_workers(one.hosts, one.stopped, asked));
  EXPECT_TRUE(one.host->is_closed);
  ASSERT_EQ(one.host->stops.size(), 2);
  EXPECT_EQ(one.host->stops[0].deadline, asked);
  EXPECT_EQ(one.host->stops[0].grace.count(), 0) << "the run has not stopped in order";
  EXPECT_GE(one.host->stops[1].deadline, asked + limits::worker_reap_time_at_exit);
}

TEST(workers_of_a_run_that_has_stopped, get_their_grace_and_are_asked_once) {
  stopping one(1, true);
  one.run.set_value();
  EXPECT_TRUE(end_workers(one.hosts, one.stopped, steady_clock::now()));
  ASSERT_EQ(one.host->stops.size(), 1);
  EXPECT_EQ(one.host->stops[0].grace, limits::worker_stop_grace);
}

TEST(a_stuck_stage_of_this_process, is_told_where_all_workers_are_gone) {
  stopping one(1, true);
  EXPECT_FALSE(end_workers(one.hosts, one.stopped, steady_clock::now()));
  EXPECT_EQ(one.host->stops.size(), 1);
}

}  // namespace
}  // namespace troupe::testing
