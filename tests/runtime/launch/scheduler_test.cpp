// Goal: the scheduler that started a process is found, with the process's place, and a variable that cannot be true is
// named. Method: environments as the public documentation of Slurm, Open MPI, Kubernetes and torchrun describes them,
// then one variable changed at a time.
#include "runtime/launch/scheduler.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe {
namespace {

using ::testing::HasSubstr;
using variables = std::map<std::string, std::string, std::less<>>;

expected<scheduler_place> find(const variables& environment) {
  return find_scheduler([&](std::string_view name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
}

/// `base`, with those of `changes` instead; an empty value takes the variable away.
variables with(variables base, const variables& changes) {
  for (const auto& [name, value] : changes) base.insert_or_assign(name, value);
  return base;
}

/// A job of a public report: four nodes, one task on each.
const variables batch_job{{"SLURM_JOB_ID", "200505"},
                          {"SLURM_JOB_NODELIST", "gnode[10,20,25,37]"},
                          {"SLURM_NODELIST", "gnode[10,20,25,37]"},
                          {"SLURM_JOB_NUM_NODES", "4"},
                          {"SLURM_NNODES", "4"},
                          {"SLURM_NTASKS", "4"},
                          {"SLURM_TASKS_PER_NODE", "1(x4)"},
                          {"SLURM_JOB_CPUS_PER_NODE", "4(x4)"},
                          {"SLURM_NODEID", "0"},
                          {"SLURM_PROCID", "0"},
                          {"SLURM_LOCALID", "0"}};

/// A task of an srun over two of these nodes.
const variables step_of_job = with(batch_job, {{"SLURM_STEP_ID", "3"},
                                               {"SLURM_STEP_NODELIST", "gnode[20,37]"},
                                               {"SLURM_STEP_NUM_NODES", "2"},
                                               {"SLURM_STEP_NUM_TASKS", "3"},
                                               {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                                               {"SLURM_NNODES", "2"},
                                               {"SLURM_NTASKS", "3"},
                                               {"SLURM_TASKS_PER_NODE", "2,1"},
                                               {"SLURM_NODEID", "1"},
                                               {"SLURM_PROCID", "2"}});

const variables mpi_process{{"OMPI_COMM_WORLD_SIZE", "6"},       {"OMPI_COMM_WORLD_RANK", "5"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_NODE_RANK", "1"},  {"PMIX_RANK", "5"}};

const variables torchrun_worker{{"RANK", "9"},
                                {"WORLD_SIZE", "16"},
                                {"LOCAL_RANK", "1"},
                                {"GROUP_RANK", "1"},
                                {"LOCAL_WORLD_SIZE", "8"},
                                {"GROUP_WORLD_SIZE", "2"},
                                {"ROLE_RANK", "9"},
                                {"MASTER_ADDR", "w0.cluster"},
                                {"MASTER_PORT", "29500"},
                                {"TORCHELASTIC_RUN_ID", "100"}};

const variables pod{{"JOB_COMPLETION_INDEX", "2"}, {"HOSTNAME", "example-job-2"}};

TEST(scheduler, none_is_found_without_variables) {
  const auto place = find({{"PATH", "/bin"}, {"RANK", "0"}, {"WORLD_SIZE", "4"}, {"SLURM_JOB_ID", ""}});
  ASSERT_TRUE(place) << to_string(place.error());
  EXPECT_EQ(place->kind, scheduler_kind::none);
  EXPECT_FALSE(place->node_rank || place->node_count || place->local_rank || place->first_port);
}

TEST(scheduler, slurm_job) {
  const auto place = find(batch_job);
  ASSERT_TRUE(place) << to_string(place.error());
  EXPECT_EQ(place->kind, scheduler_kind::slurm);
  EXPECT_EQ(place->node_rank, 0);
  EXPECT_EQ(place->node_count, 4);
  EXPECT_EQ(place->local_rank, 0);
  EXPECT_EQ(place->first_node, "gnode10");
  EXPECT_EQ(place->nodes, (std::vector<launch_node>{{"gnode10", 1}, {"gnode20", 1}, {"gnode25", 1}, {"gnode37", 1}}));
}

TEST(scheduler, slurm_step) {
  const auto place = find(step_of_job);
  ASSERT_TRUE(place) << to_string(place.error());
  EXPECT_EQ(place->node_rank, 1);
  EXPECT_EQ(place->node_count, 2);
  EXPECT_EQ(place->local_rank, 0);
  EXPECT_EQ(place->first_node, "gnode20");
  EXPECT_EQ(place->nodes, (std::vector<launch_node>{{"gnode20", 2}, {"gnode37", 1}}));
}

TEST(scheduler, slurm_shells_of_salloc) {
  // on a login node, with no number of a node or a task
  const auto login = find({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_NNODES", "2"}});
  ASSERT_TRUE(login) << to_string(login.error());
  EXPECT_FALSE(login->node_rank || login->local_rank);
  EXPECT_EQ(login->nodes, (std::vector<launch_node>{{"n1", 1}, {"n2", 1}}));
  // in the interactive step, which has one node of the job's two
  const auto inside = find({{"SLURM_JOB_ID", "7"},
                            {"SLURM_JOB_NODELIST", "n[1-2]"},
                            {"SLURM_JOB_NUM_NODES", "2"},
                            {"SLURM_NNODES", "1"},
                            {"SLURM_STEP_ID", "4294967290"},
                            {"SLURM_STEP_NODELIST", "n1"},
                            {"SLURM_TASKS_PER_NODE", "1"},
                            {"SLURM_NODEID", "0"}});
  ASSERT_TRUE(inside) << to_string(inside.error());
  EXPECT_EQ(inside->node_rank, 0);
  EXPECT_EQ(inside->nodes, login->nodes);
}

TEST(scheduler, slurm_names_of_old_versions) {
  const auto place = find({{"SLURM_JOB_ID", "7"}, {"SLURM_NODELIST", "n[1-2]"}, {"SLURM_NNODES", "2"}});
  ASSERT_TRUE(place) << to_string(place.error());
  EXPECT_EQ(place->node_count, 2);
}

TEST(scheduler, open_mpi) {
  const auto place = find(mpi_process);
  ASSERT_TRUE(place) << to_string(place.error());
  EXPECT_EQ(place->kind, scheduler_kind::open_mpi);
  EXPECT_EQ(place->node_rank, 2);
  EXPECT_EQ(place->node_count, 3);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->first_node, "");
  EXPECT_TRUE(place->nodes.empty());
}

TEST(scheduler, kubernetes) {
  const auto place = find(pod);
  ASSERT_TRUE(place) << to_string(place.error());
  EXPECT_EQ(place->kind, scheduler_kind::kubernetes);
  EXPECT_EQ(place->node_rank, 2);
  EXPECT_EQ(place->node_count, std::nullopt);
  EXPECT_EQ(place->local_rank, 0);
}

TEST(scheduler, torchrun) {
  const auto place = find(torchrun_worker);
  ASSERT_TRUE(place) << to_string(place.error());
  EXPECT_EQ(place->kind, scheduler_kind::torchrun);
  EXPECT_EQ(place->node_rank, 1);
  EXPECT_EQ(place->node_count, 2);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->first_node, "w0.cluster");
  EXPECT_EQ(place->first_port, 29500);
  const auto older = find(with(torchrun_worker, {{"GROUP_WORLD_SIZE", ""}, {"MASTER_ADDR", "[2001:db8:0::1]"}}));
  ASSERT_TRUE(older) << to_string(older.error());
  EXPECT_EQ(older->node_count, 2);
  EXPECT_EQ(older->first_node, "2001:db8::1");
}

TEST(scheduler, the_innermost_one_counts) {
  const auto kind = [](const variables& environment) { return find(environment)->kind; };
  EXPECT_EQ(kind(with(with(with(pod, batch_job), mpi_process), torchrun_worker)), scheduler_kind::torchrun);
  EXPECT_EQ(kind(with(with(pod, batch_job), mpi_process)), scheduler_kind::open_mpi);
  EXPECT_EQ(kind(with(pod, step_of_job)), scheduler_kind::slurm);
  EXPECT_EQ(kind(with(step_of_job, {{"PMIX_RANK", "2"}})), scheduler_kind::slurm);
}

struct bad_environment {
  variables base;
  variables changes;
  error_code code;
  const char* where;
  const char* words;
};

constexpr auto malformed = error_code::value_out_of_range;
constexpr auto contradictory = error_code::flags_contradict;

void expect_all_refused(const std::vector<bad_environment>& table) {
  for (const bad_environment& bad : table) {
    const auto place = find(with(bad.base, bad.changes));
    ASSERT_FALSE(place) << bad.where << bad.words;
    EXPECT_EQ(place.error().code, bad.code) << to_string(place.error());
    EXPECT_EQ(place.error().where, bad.where);
    EXPECT_THAT(place.error().cause, HasSubstr(bad.words));
    EXPECT_NE(place.error().fix, "");
  }
}

TEST(scheduler, names_the_bad_variable_of_slurm) {
  expect_all_refused({
      {batch_job, {{"SLURM_JOB_ID", "x"}}, malformed, "SLURM_JOB_ID", "is 'x'"},
      {batch_job, {{"SLURM_JOB_NODELIST", ""}, {"SLURM_NODELIST", ""}}, contradictory, "SLURM_JOB_NODELIST", "not set"},
      {batch_job, {{"SLURM_JOB_NODELIST", "n[1-"}}, malformed, "SLURM_JOB_NODELIST, character 2", "no ']'"},
      {batch_job, {{"SLURM_JOB_NUM_NODES", "5"}}, contradictory, "SLURM_JOB_NUM_NODES", "has 4 nodes"},
      {batch_job, {{"SLURM_JOB_NUM_NODES", "0"}}, malformed, "SLURM_JOB_NUM_NODES", "is '0', a number from 1"},
      {batch_job, {{"SLURM_JOB_NUM_NODES", ""}, {"SLURM_NNODES", "3"}}, contradictory, "SLURM_NNODES", "is 3"},
      {batch_job, {{"SLURM_NODEID", "4"}}, contradictory, "SLURM_NODEID", "SLURM_JOB_NODELIST says that there are 4"},
      {batch_job, {{"SLURM_NODEID", "-1"}}, malformed, "SLURM_NODEID", "is '-1'"},
      {batch_job, {{"SLURM_PROCID", "4"}}, contradictory, "SLURM_PROCID", "SLURM_NTASKS says that there are 4"},
      {batch_job, {{"SLURM_PROCID", "1e3"}}, malformed, "SLURM_PROCID", "is '1e3'"},
      {batch_job, {{"SLURM_NTASKS", "four"}}, malformed, "SLURM_NTASKS", "is 'four'"},
      {batch_job, {{"SLURM_LOCALID", "1"}}, contradictory, "SLURM_LOCALID", "says that there are 1"},
      {batch_job, {{"SLURM_LOCALID", "4294967296"}}, malformed, "SLURM_LOCALID", "a number from 0 to 4294967295"},
      {batch_job, {{"SLURM_TASKS_PER_NODE", "1(x3)"}}, contradictory, "SLURM_TASKS_PER_NODE", "has 3 counts"},
      {batch_job, {{"SLURM_TASKS_PER_NODE", "1(x"}}, malformed, "SLURM_TASKS_PER_NODE, character 4", "')' is missing"},
      {step_of_job, {{"SLURM_STEP_ID", "x"}}, malformed, "SLURM_STEP_ID", "is 'x'"},
      {step_of_job, {{"SLURM_STEP_NUM_NODES", "4"}}, contradictory, "SLURM_STEP_NUM_NODES", "has 2 nodes"},
      {step_of_job, {{"SLURM_STEP_NUM_TASKS", "4"}}, contradictory, "SLURM_STEP_NUM_TASKS", "has 3 tasks"},
      {step_of_job, {{"SLURM_STEP_TASKS_PER_NODE", "3"}}, contradictory, "SLURM_STEP_TASKS_PER_NODE", "has 1 counts"},
      {step_of_job, {{"SLURM_NODEID", "2"}}, contradictory, "SLURM_NODEID", "SLURM_STEP_NODELIST says"},
      {step_of_job, {{"SLURM_PROCID", "3"}}, contradictory, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS says"},
  });
}

TEST(scheduler, names_the_bad_variable_of_other_launchers) {
  const char* local_rank = "OMPI_COMM_WORLD_LOCAL_RANK";
  const char* local_size = "OMPI_COMM_WORLD_LOCAL_SIZE";
  const char* size = "OMPI_COMM_WORLD_SIZE";
  expect_all_refused({
      {mpi_process, {{size, ""}}, contradictory, size, "is not set, but OMPI_COMM_WORLD_RANK is"},
      {mpi_process, {{size, "5"}}, contradictory, "OMPI_COMM_WORLD_RANK", "is 5, and OMPI_COMM_WORLD_SIZE says"},
      {mpi_process, {{size, "0"}}, malformed, size, "is '0'"},
      {mpi_process, {{size, "262145"}}, malformed, size, "a number from 1 to 262144"},
      {mpi_process, {{size, "30000"}}, malformed, size, "15000 nodes"},
      {mpi_process, {{size, "7"}}, contradictory, local_size, "does not divide the 7"},
      {mpi_process, {{local_rank, "2"}}, contradictory, local_rank, "is 2"},
      {mpi_process, {{local_rank, "0"}}, contradictory, local_rank, "do not follow one another"},
      {mpi_process, {{local_size, "7"}}, contradictory, local_size, "is 7, more than the 6"},
      {mpi_process, {{"PMIX_RANK", "4"}}, contradictory, "PMIX_RANK", "is 4, and OMPI_COMM_WORLD_RANK is 5"},
      {{{"PMIX_RANK", "0"}}, {}, contradictory, size, "is not set, but PMIX_RANK is"},
      {pod, {{"JOB_COMPLETION_INDEX", "two"}}, malformed, "JOB_COMPLETION_INDEX", "is 'two'"},
      {pod, {{"JOB_COMPLETION_INDEX", "10000"}}, malformed, "JOB_COMPLETION_INDEX", "a number from 0 to 9999"},
      {torchrun_worker, {{"RANK", ""}}, contradictory, "RANK", "is not set, but GROUP_RANK is"},
      {torchrun_worker, {{"RANK", "16"}}, contradictory, "RANK", "WORLD_SIZE says that there are 16"},
      {torchrun_worker, {{"WORLD_SIZE", "many"}}, malformed, "WORLD_SIZE", "is 'many'"},
      {torchrun_worker, {{"LOCAL_RANK", "8"}}, contradictory, "LOCAL_RANK", "LOCAL_WORLD_SIZE says"},
      {torchrun_worker, {{"LOCAL_WORLD_SIZE", "17"}}, contradictory, "LOCAL_WORLD_SIZE", "more than the 16"},
      {torchrun_worker, {{"GROUP_RANK", "2"}}, contradictory, "GROUP_RANK", "GROUP_WORLD_SIZE says"},
      {torchrun_worker, {{"GROUP_WORLD_SIZE", "0"}}, malformed, "GROUP_WORLD_SIZE", "is '0'"},
      {torchrun_worker, {{"MASTER_PORT", "65536"}}, malformed, "MASTER_PORT", "a number from 1 to 65535"},
      {torchrun_worker, {{"MASTER_ADDR", "w0:1"}}, malformed, "MASTER_ADDR, character 3", "has no ':'"},
  });
}

}  // namespace
}  // namespace troupe
