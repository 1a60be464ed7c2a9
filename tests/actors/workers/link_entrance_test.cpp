// Goal: what a worker of this host says and how it ends is told of it, in order, its end last, also of one that dies
// before its first words. Method: the production entrance and worker in virtual time, and an actor in the place of the
// worker's own.
#include "actors/local_host/link_entrance.hpp"

#include <string>
#include <vector>

#include <caf/scheduler/test_coordinator.hpp>
#include <gmock/gmock.h>

#include "actors/local_host/local_worker.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

struct noted_news final : worker_listener {
  void said(const hosted_worker_ptr&, codec::bytes message) override {
    told.push_back("said " + std::to_string(std::to_integer<int>(message.at(0))));
  }
  void link_lost(const hosted_worker_ptr&) override { told.emplace_back("link lost"); }
  void exited(const hosted_worker_ptr& worker, const exit_report&) override {
    told.push_back(worker->place() + " exited");
  }
  std::vector<std::string> told;
};

/// What got there, by its first byte.
wire_actor::behavior_type far_worker(wire_actor::pointer, std::vector<int>* got) {
  return {[got](const wire_message& message) { got->push_back(message.bytes.at(0)); }};
}

class linked_worker : public ::testing::Test {
 protected:
  linked_worker() {
    auto entrance = system.spawn(link_entrance, hosted_worker_ptr(worker), news);
    address = entrance.address();
    worker->link_through(std::move(entrance));  // which alone keeps it
    run();
  }
  ~linked_worker() override {
    ends();
    caf::anon_send_exit(far, caf::exit_reason::user_shutdown);
    run();
  }

  void run() { dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler()).run(); }
  /// As the worker's own actor.
  void says(std::uint8_t first) {
    const auto entrance = caf::actor_cast<caf::strong_actor_ptr>(address);
    caf::send_as(far, caf::actor_cast<wire_actor>(entrance), wire_message{{first}});
    run();
  }
  void ends() {
    exit_report report;
    report.pid = 42;
    worker->on_exit(report);
    run();
  }

  struct testing_config : caf::actor_system_config {
    testing_config() { set("scheduler.policy", caf::atom("testing")); }
  };
  testing_config config;
  caf::actor_system system{config};
  caf::actor_addr address;
  std::vector<int> got;
  wire_actor far = system.spawn(far_worker, &got);
  const std::shared_ptr<noted_news> news = std::make_shared<noted_news>();
  std::unique_ptr<process_host> host = *process_host::create();
  std::pair<fd_channel, unique_fd> channel = *fd_channel::make();
  const std::shared_ptr<local_worker> worker = std::make_shared<local_worker>(
      "worker 0", 0, nullptr,
      local_worker::parts{.channel = std::move(channel.first), .page = *shared_page::create(), .host = *host});
};

TEST_F(linked_worker, that_dies_before_its_first_words_is_told_once) {
  ends();
  ends();
  EXPECT_THAT(news->told, ElementsAre("process 42 exited"));
}

TEST_F(linked_worker, is_spoken_to_once_it_has_spoken) {
  worker->send({std::byte{1}});
  run();
  EXPECT_THAT(got, ElementsAre()) << "who it is, is not known";
  says(2);
  worker->send({std::byte{3}});
  run();
  EXPECT_THAT(news->told, ElementsAre("said 2"));
  EXPECT_THAT(got, ElementsAre(3));
}

TEST_F(linked_worker, is_told_to_be_out_of_reach_and_then_to_have_ended) {
  says(2);
  caf::anon_send_exit(far, caf::exit_reason::kill);
  run();
  ends();
  EXPECT_THAT(news->told, ElementsAre("said 2", "link lost", "process 42 exited"));
}

}  // namespace
}  // namespace troupe::testing
