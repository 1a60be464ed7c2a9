// Goal: a node on which the driver's program cannot run is named with the difference, before any worker is started.
// Method: setups that are wrong in one thing each.
#include <fstream>

#include <sys/stat.h>

#include "tests/runtime/agent_host/agent_node.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

/// What the driver is told of a setup that this node does not take.
error refused(const agent_setup& setup) {
  agent_node n1;
  n1.node->set_up(setup);
  const auto ready = n1.node->wait_until_ready(in_time());
  EXPECT_FALSE(ready);
  const auto served = n1.join();
  EXPECT_FALSE(served) << "the agent ends by itself";
  EXPECT_EQ(n1.node->loss().has_value(), !ready);
  return ready ? error{} : ready.error();
}

TEST(agent_setup, a_program_that_is_not_there_is_named) {
  agent_setup setup = probe_setup();
  setup.program = "/nowhere/program";
  const error why = refused(setup);
  EXPECT_EQ(why.code, error_code::worker_mismatch);
  EXPECT_EQ(why.where, "node n1, /nowhere/program");
  EXPECT_THAT(why.cause, HasSubstr("No such file"));
  EXPECT_FALSE(why.fix.empty());
}

TEST(agent_setup, another_program_is_named) {
  agent_setup setup = probe_setup();
  setup.program_hash.back() = setup.program_hash.back() == '0' ? '1' : '0';
  const error why = refused(setup);
  EXPECT_EQ(why.code, error_code::worker_mismatch);
  EXPECT_EQ(why.where, "node n1, " + setup.program);
  EXPECT_THAT(why.cause, HasSubstr("another program"));
}

TEST(agent_setup, a_directory_that_is_not_there_is_named) {
  agent_setup setup = probe_setup();
  setup.directory = "/nowhere";
  const error why = refused(setup);
  EXPECT_EQ(why.code, error_code::worker_mismatch);
  EXPECT_EQ(why.where, "node n1, /nowhere");
  EXPECT_THAT(why.cause, HasSubstr("No such file"));
}

TEST(agent_setup, slots_that_no_launch_has_are_refused) {
  constexpr std::uint32_t greatest = ~0u;
  struct slots {
    std::uint32_t here, before, all;
  };
  for (const slots& bad : {slots{0, 0, 1}, slots{2, 0, 1}, slots{1, 1, 1}, slots{1, greatest, 1}, slots{0, 0, 0},
                           slots{limits::node_slots_max + 1, 0, greatest}, slots{greatest, 1, greatest}}) {
    agent_setup setup = probe_setup();
    setup.slots = bad.here;
    setup.first_rank = bad.before;
    setup.world_size = bad.all;
    const error why = refused(setup);
    EXPECT_EQ(why.code, error_code::node_lost) << bad.here << " " << bad.before << " " << bad.all;
    EXPECT_THAT(why.cause, HasSubstr("slots"));
  }
}

TEST(agent_setup, nothing_starts_on_a_node_that_refused) {
  agent_node n1;
  agent_setup setup = probe_setup();
  setup.directory = "/nowhere";
  n1.node->set_up(setup);
  ASSERT_FALSE(n1.node->wait_until_ready(in_time()));
  agent_host host = n1.new_host();
  const auto news = std::make_shared<noted_worker>();
  const auto started = host.start(news);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, error_code::worker_mismatch);
  EXPECT_FALSE(news->has_ended());
}

TEST(agent_setup, a_program_that_cannot_be_executed_is_a_worker_that_has_ended) {
  const std::string path = ::testing::TempDir() + "agent_setup_no_program";
  std::ofstream(path) << "no program\n";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  agent_setup setup = probe_setup();
  setup.program = path;
  setup.program_hash = *sha256_of_file(path, error_code::worker_mismatch);
  agent_node n1;
  n1.be_ready(setup);
  agent_host host = n1.new_host();
  for (int i = 0; i < 2; ++i) {
    const started_worker one(host);
    const auto end = one.news->end();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->kind, exit_kind::lost);
    EXPECT_EQ(end->note, "it could not be started");
    ASSERT_TRUE(end->told) << "as data, with its fix";
    EXPECT_EQ(end->told->code, error_code::process_failed);
    EXPECT_THAT(end->told->cause, HasSubstr(path));
    EXPECT_THAT(end->told->fix, HasSubstr("executed"));
    EXPECT_FALSE(one.worker->pid());
    EXPECT_FALSE(n1.node->loss()) << "the node is as good as before";
  }
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace troupe::testing
