// Goal: each process of a launch takes the part that flags, hostfile and scheduler give it, or says which flag is
// wrong. Method: environments as the schedulers' documentation has them, hostfiles written for the test.
#include "runtime/launcher/launch_roles.hpp"

#include <fstream>
#include <map>

#include <gmock/gmock.h>

#include "tests/runtime/launcher/launch_run.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using variables = std::map<std::string, std::string, std::less<>>;

const own_host planned_host{"w0", {"127.0.0.1", "10.9.0.1"}};

const variables slurm_batch = {{"SLURM_JOB_ID", "7"},  {"SLURM_JOB_NODELIST", "w[0-2]"},
                               {"SLURM_NODEID", "0"},  {"SLURM_PROCID", "0"},
                               {"SLURM_LOCALID", "0"}, {"SLURM_TASKS_PER_NODE", "2(x3)"}};

variables slurm_step(const char* node, const char* local = "0") {
  variables all = slurm_batch;
  all.erase("SLURM_PROCID");
  all["SLURM_STEP_ID"] = "0";
  all["SLURM_STEP_NODELIST"] = "w[0-2]";
  all["SLURM_STEP_TASKS_PER_NODE"] = "2(x3)";
  all["SLURM_NODEID"] = node;
  all["SLURM_LOCALID"] = local;
  return all;
}

variables torchrun(const char* group) {
  return {{"GROUP_RANK", group}, {"GROUP_WORLD_SIZE", "2"}, {"RANK", group},
          {"WORLD_SIZE", "2"},   {"LOCAL_RANK", "0"},       {"LOCAL_WORLD_SIZE", "1"}};
}

class launch_roles_test : public ::testing::Test {
 protected:
  launch_roles_test() { std::ofstream(hosts()) << "w0 slots=2\nw1 slots=2\nw2 slots=1\n"; }

  [[nodiscard]] std::string hosts() const { return (place_.path() / "hosts").string(); }
  [[nodiscard]] launch_choice with_hosts() const {
    launch_choice choice;
    choice.hostfile = hosts();
    return choice;
  }
  [[nodiscard]] static launch_choice with_file() {
    launch_choice choice;
    choice.join_file = "/shared/job";
    return choice;
  }
  static expected<launch_roles> plan(const launch_choice& choice, const variables& found = {}) {
    return decide_launch_roles(
        choice,
        [&](std::string_view name) {
          const auto at = found.find(name);
          return at == found.end() ? std::nullopt : std::optional(at->second);
        },
        planned_host);
  }
  static launch_roles good(const launch_choice& choice, const variables& found = {}) {
    const auto made = plan(choice, found);
    EXPECT_TRUE(made) << to_string(made.error());
    return made.value_or(launch_roles{});
  }
  static void expect_bad(const launch_choice& choice, const variables& found, error_code code, const char* flag) {
    const auto made = plan(choice, found);
    ASSERT_FALSE(made) << flag;
    EXPECT_EQ(made.error().code, code);
    EXPECT_THAT(to_string(made.error()), HasSubstr(flag));
    EXPECT_FALSE(made.error().fix.empty());
  }
  static std::vector<std::string> names(const launch_roles& made) {
    std::vector<std::string> all;
    for (const node_slots& node : made.nodes) all.push_back(node.name);
    return all;
  }

 private:
  scratch_directory place_;
};

using strings = std::vector<std::string>;

TEST_F(launch_roles_test, a_hostfile_is_reached_by_ssh) {
  const launch_roles made = good(with_hosts());
  EXPECT_EQ(made.part, launch_part::start_agents);
  EXPECT_EQ(names(made), (strings{"w0", "w1", "w2"}));
  EXPECT_EQ(made.driver_node, 0u);
  launch_choice others = with_hosts();
  others.filter.exclude = "w0";
  EXPECT_EQ(good(others).driver_node, std::nullopt);
  EXPECT_EQ(names(good(others)), (strings{"w1", "w2"}));
  EXPECT_EQ(good(with_hosts(), slurm_step("1")).part, launch_part::start_agents)
      << "a hostfile goes before a scheduler";
}

TEST_F(launch_roles_test, without_nodes_there_is_no_launch) {
  expect_bad({}, {}, error_code::missing_flag, "--hostfile");
  launch_choice absent;
  absent.hostfile = "/no/such/file";
  expect_bad(absent, {}, error_code::config_missing, "/no/such/file");
  launch_choice unknown = with_hosts();
  unknown.filter.include = "w7";
  expect_bad(unknown, {}, error_code::unknown_name, "w7");
}

TEST_F(launch_roles_test, by_hand_each_rank_has_its_part) {
  launch_choice choice = with_hosts();
  choice.no_ssh = true;
  choice.join_file = "/shared/job";
  choice.node_rank = 0;
  const launch_roles launcher = good(choice);
  EXPECT_EQ(launcher.part, launch_part::write_join_files);
  EXPECT_EQ(launcher.join_file, "/shared/job");
  EXPECT_EQ(launcher.node_ranks, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(launcher.driver_node, 0u);
  choice.node_rank = 2;
  const launch_roles agent = good(choice);
  EXPECT_EQ(agent.part, launch_part::await_join_file);
  EXPECT_EQ(agent.join_file, "/shared/job.2");
  EXPECT_EQ(agent.node, "w2");
  choice.node_rank = 3;
  expect_bad(choice, {}, error_code::value_out_of_range, "--node-rank");
  choice.node_rank = 1;
  choice.filter.exclude = "w1";
  EXPECT_EQ(good(choice).part, launch_part::nothing);
  choice.node_rank = 0;
  EXPECT_EQ(good(choice).node_ranks, (std::vector<std::uint32_t>{0, 2})) << "a node keeps its rank";
  choice.filter.exclude = "w0";
  EXPECT_EQ(good(choice).driver_node, std::nullopt) << "its slots are not used";
}

TEST_F(launch_roles_test, by_hand_without_a_hostfile_a_number_is_enough) {
  launch_choice choice = with_file();
  choice.node_rank = 1;
  EXPECT_EQ(good(choice).join_file, "/shared/job.1");
  EXPECT_EQ(good(choice).node, "node rank 1");
  choice.node_rank = 0;
  expect_bad(choice, {}, error_code::missing_flag, "--num-nodes");
  choice.filter.num_nodes = 2;
  choice.filter.num_slots = 3;
  EXPECT_EQ(names(good(choice)), (strings{"node-0", "node-1"}));
  EXPECT_EQ(good(choice).nodes[1].slots, (std::vector<std::uint32_t>{0, 1, 2}));
  choice.node_rank = 2;
  EXPECT_EQ(good(choice).part, launch_part::nothing);
  choice.filter.num_nodes = 1'000'000'000;
  expect_bad(choice, {}, error_code::value_out_of_range, "--num-nodes");
}

TEST_F(launch_roles_test, flags_that_are_missing_or_contradict_are_named) {
  launch_choice choice = with_hosts();
  choice.no_ssh = true;
  expect_bad(choice, {}, error_code::missing_flag, "--join-file");
  choice.join_file = "f";
  expect_bad(choice, {}, error_code::missing_flag, "--node-rank");
  choice.node_rank = 0;
  choice.has_ssh_command = true;
  expect_bad(choice, {}, error_code::flags_contradict, "--ssh");
  choice.no_ssh = false;
  expect_bad(choice, {}, error_code::flags_contradict, "--ssh");
  launch_choice ranked = with_hosts();
  ranked.node_rank = 1;
  expect_bad(ranked, {}, error_code::flags_contradict, "--node-rank");
}

TEST_F(launch_roles_test, the_script_of_a_slurm_job_reaches_its_nodes_by_ssh) {
  const launch_roles made = good({}, slurm_batch);
  EXPECT_EQ(made.part, launch_part::start_agents);
  EXPECT_EQ(names(made), (strings{"w0", "w1", "w2"}));
  EXPECT_EQ(made.driver_node, 0u);
}

TEST_F(launch_roles_test, a_slurm_step_joins_by_files) {
  expect_bad({}, slurm_step("1"), error_code::missing_flag, "Slurm");
  expect_bad({}, slurm_step("1"), error_code::missing_flag, "--join-file");
  const launch_roles launcher = good(with_file(), slurm_step("0"));
  EXPECT_EQ(launcher.part, launch_part::write_join_files);
  EXPECT_EQ(launcher.nodes[2].slots.size(), 2u);
  EXPECT_EQ(good(with_file(), slurm_step("2")).join_file, "/shared/job.2");
  EXPECT_EQ(good(with_file(), slurm_step("2")).node, "w2");
  EXPECT_EQ(good(with_file(), slurm_step("0", "1")).part, launch_part::nothing);
}

TEST_F(launch_roles_test, torchrun_open_mpi_and_kubernetes_number_the_nodes) {
  EXPECT_EQ(names(good(with_file(), torchrun("0"))), (strings{"node-0", "node-1"}));
  EXPECT_EQ(good(with_file(), torchrun("1")).join_file, "/shared/job.1");
  expect_bad({}, torchrun("1"), error_code::missing_flag, "torchrun");
  const variables mpi = {{"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_EQ(good(with_file(), mpi).part, launch_part::nothing);
  const variables pod = {{"JOB_COMPLETION_INDEX", "0"}};
  expect_bad(with_file(), pod, error_code::missing_flag, "--num-nodes");
  launch_choice pods = with_file();
  pods.filter.num_nodes = 3;
  EXPECT_EQ(good(pods, pod).node_ranks, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(good(pods, {{"JOB_COMPLETION_INDEX", "2"}}).join_file, "/shared/job.2");
  EXPECT_EQ(good(pods, {{"JOB_COMPLETION_INDEX", "3"}}).part, launch_part::nothing);
}

}  // namespace
}  // namespace troupe::testing
