// Goal: `troupe launch` says which flag is wrong and starts nothing then; with good ones it runs its command.
// Method: a table of command lines with the statuses of docs/errors.md; the program itself, with a script for ssh.
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/output.hpp"
#include "tests/cli/commands_in_child.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using words = std::vector<std::string>;

constexpr int usage = 2;
constexpr int bad_file = 3;

struct bad_launch {
  words arguments;
  int status;
  const char* code;
  const char* said;
};

words with_hosts(const words& more, const words& command = {"--", "/bin/true"}) {
  words all = {"launch", "--hostfile", "hosts"};
  all.insert(all.end(), more.begin(), more.end());
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

class cli_launch : public ::testing::Test {
 protected:
  cli_launch() {
    write("hosts", "localhost slots=2\nnode.invalid slots=1\n");
    write("bad-hosts", "localhost slots=2\nnode.invalid cores=1\n");
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(place_.path() / name) << text; }
  [[nodiscard]] program_outcome run(const words& arguments, const words& environment = {}, bool in_child = true) const {
    program_call call;
    call.arguments = arguments;
    call.environment = environment;
    call.environment.push_back("HOME=" + place_.path().string());
    call.directory = place_.path().string();
    if (in_child) call.body = commands_in_child;
    return run_troupe(call);
  }
  void expect_bad(const bad_launch& each, const words& environment = {}) const {
    const program_outcome outcome = run(each.arguments, environment);
    EXPECT_EQ(outcome.status, each.status) << each.said << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(each.code));
    EXPECT_THAT(outcome.err, HasSubstr(each.said));
    EXPECT_THAT(outcome.err, HasSubstr("fix: "));
    EXPECT_EQ(outcome.out, "");
  }
  [[nodiscard]] const std::filesystem::path& place() const { return place_.path(); }

 private:
  scratch place_;
};

TEST_F(cli_launch, bad_flags_are_usage_errors) {
  const std::vector<bad_launch> table = {
      {{"launch"}, usage, "E0105", "COMMAND"},
      {{"launch", "--hostfile", "hosts"}, usage, "E0105", "COMMAND"},
      {{"launch", "--hostfile", "hosts", "--"}, usage, "E0105", "COMMAND"},
      {{"launch", "--hostfile", "hosts", "/bin/true"}, usage, "E0105", "behind --"},
      {{"launch", "--", "/bin/true"}, usage, "E0105", "--hostfile"},
      {with_hosts({"--hostflie", "x"}), usage, "E0101", "--hostflie"},
      {with_hosts({"extra"}), usage, "E0101", "extra"},
      {with_hosts({}, {"--", "no-such-program"}), usage, "E0103", "no-such-program"},
      {with_hosts({"--hostfile="}), usage, "E0103", "--hostfile"},
      {with_hosts({"--include", "w7"}), usage, "E0102", "w7"},
      {with_hosts({"--include", "localhost:7"}), usage, "E0103", "--include"},
      {with_hosts({"--include", "localhost", "--exclude", "localhost"}), usage, "E0104", "--exclude"},
      {with_hosts({"--num-nodes", "0"}), usage, "E0103", "--num-nodes"},
      {with_hosts({"--num_nodes", "3"}), usage, "E0103", "3"},
      {with_hosts({"--num_gpus", "x"}), usage, "E0103", "--num-slots"},
      {with_hosts({"--ssh", " "}), usage, "E0103", "--ssh"},
      {with_hosts({"--ssh", "no-such-ssh"}), usage, "E0103", "no-such-ssh"},
      {with_hosts({"--no-ssh"}), usage, "E0105", "--join-file"},
      {with_hosts({"--no-ssh", "--join-file", "f"}), usage, "E0105", "--node-rank"},
      {with_hosts({"--no-ssh", "--join-file", "f", "--node-rank", "-1"}), usage, "E0103", "--node-rank"},
      {with_hosts({"--no-ssh", "--join-file", "f", "--node-rank", "2"}), usage, "E0103", "--node-rank"},
      {with_hosts({"--no_ssh", "--ssh", "ssh"}), usage, "E0104", "--ssh"},
      {with_hosts({"--node_rank", "1"}), usage, "E0104", "--node-rank"},
      {with_hosts({"--address", "a b"}), usage, "E0103", "--address"},
      {with_hosts({"--address", "-x"}), usage, "E0103", "--address"},
      {with_hosts({"--port", "65536"}), usage, "E0103", "--port"},
      {with_hosts({"--port", "-1"}), usage, "E0103", "--port"},
      {with_hosts({"--join-timeout", "0"}), usage, "E0103", "--join-timeout"},
      {with_hosts({"--join_timeout", "nan"}), usage, "E0103", "--join-timeout"},
      {with_hosts({"--worker-timeout", "0.5"}), usage, "E0103", "--worker-timeout"},
      {with_hosts({"--grace", "-1"}), usage, "E0103", "--grace"},
      {with_hosts({"--grace", "soon"}), usage, "E0103", "--grace"},
      {with_hosts({"--env", "A B=1"}), usage, "E0103", "--env"},
      {with_hosts({"--env", "TROUPE_LAUNCH=1"}), usage, "E0103", "TROUPE_LAUNCH"},
      {with_hosts({"--env", "NOT_SET_ANYWHERE"}), usage, "E0103", "NOT_SET_ANYWHERE"},
      {{"agent"}, usage, "E0105", "--join-file"},
      {{"agent", "--stdin", "--join-file", "f"}, usage, "E0104", "--stdin"},
  };
  for (const bad_launch& each : table) expect_bad(each);
}

TEST_F(cli_launch, bad_files_are_bad_input) {
  expect_bad({{"launch", "--hostfile", "absent", "--", "/bin/true"}, bad_file, "E0401", "absent"});
  expect_bad({{"launch", "-H", "bad-hosts", "--", "/bin/true"}, bad_file, "E0402", "bad-hosts:2:14"});
  write(".troupe_env", "A=1\nexport B=2\n");
  expect_bad({with_hosts({}), bad_file, "E0402", ".troupe_env:2:7"});
}

TEST_F(cli_launch, a_scheduler_without_a_join_file_is_told_what_to_give) {
  const words launch = {"launch", "--", "/bin/true"};
  expect_bad({launch, usage, "E0105", "--join-file"},
             {"GROUP_RANK=0", "RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1"});
  expect_bad({launch, usage, "E0105", "Kubernetes"}, {"JOB_COMPLETION_INDEX=1"});
}

TEST_F(cli_launch, a_node_whose_ticket_does_not_come_names_the_file) {
  const program_outcome outcome = run(with_hosts(
      {"--no-ssh", "--node-rank", "1", "--join-file", (place() / "job").string(), "--join-timeout", "0.05"}));
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("node.invalid"));
  EXPECT_THAT(outcome.err, HasSubstr((place() / "job.1").string()));
}

TEST_F(cli_launch, runs_its_command_and_ends_as_it_does) {
  const program_outcome outcome =
      run(with_hosts({"--num-nodes", "1"}, {"--", "sh", "-c", "echo \"$1\"; exit 7", "sh", "--hostfile"}), {}, false);
  EXPECT_EQ(outcome.status, 7) << outcome.err;
  EXPECT_EQ(outcome.out, "--hostfile\n") << "what stands behind -- is the command's";
  EXPECT_EQ(outcome.err, "");
}

TEST_F(cli_launch, tells_the_driver_all_that_was_given) {
  write(".troupe_env", "FROM_FILE=a b\n");
  const program_outcome outcome = run(with_hosts({"--exclude",
                                                  "localhost:1",
                                                  "--address",
                                                  "10.9.0.1",
                                                  "--address",
                                                  "head",
                                                  "--port",
                                                  "4000",
                                                  "--join_timeout",
                                                  "1.5",
                                                  "--worker-timeout",
                                                  "2",
                                                  "--grace",
                                                  "0",
                                                  "--allow-shrink",
                                                  "--placement",
                                                  "a=b",
                                                  "--bind_cores",
                                                  "--log-dir",
                                                  "logs",
                                                  "--tee",
                                                  "--env",
                                                  "FLAG=x=y",
                                                  "--env",
                                                  "HERE"},
                                                 {"--", "sh", "-c", "head -n 1 <&3"}),
                                      {"HERE=here", "OMP_NUM_THREADS=3", "TROUPE_THREADS=1"}, false);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto setup = nlohmann::json::parse(outcome.out).at("launch");
  const auto expected = nlohmann::json::parse(R"({
    "nodes": [{"name": "localhost", "slots": [0]}, {"name": "node.invalid", "slots": [0]}], "driver_node": 0,
    "addresses": ["10.9.0.1", "head"], "port": 4000, "join_timeout_ms": 1500, "worker_timeout_ms": 2000,
    "grace_ms": 0, "allow_shrink": true, "placement": "a=b", "bind_cores": true, "log_dir": "logs", "tee": true,
    "environment": [["FLAG", "x=y"], ["FROM_FILE", "a b"], ["HERE", "here"], ["OMP_NUM_THREADS", "3"],
                    ["TROUPE_THREADS", "1"]]})");
  EXPECT_EQ(setup, expected);
}

/// As srun's daemon is, which loses what it has not read when the program has ended.
TEST(a_slow_reader_of_stderr, is_waited_for) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  EXPECT_EXIT(
      {
        ::dup2(pipe[1], STDERR_FILENO);
        cli::say("the root cause\n");
        std::atomic<bool> waits{false};
        std::thread reader([&] {
          waits.wait(false);
          std::array<char, 64> text{};
          [[maybe_unused]] const auto got = ::read(pipe[0], text.data(), text.size());
        });
        waits = true;
        waits.notify_one();
        cli::await_reader();
        int unread = 0;
        ::ioctl(pipe[0], FIONREAD, &unread);
        std::_Exit(unread);
      },
      ::testing::ExitedWithCode(0), "");
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace troupe::testing
