// Goal: a worker holds the weights of its own stage. Method: the built program; a model of 263 MiB in 4 stages, of
// which none has more than 82; resident memory of the workers from /proc, as they were last seen.
#include <fstream>
#include <map>
#include <regex>

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/architecture/architecture.hpp"
#include "tests/processes/marked_run.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

constexpr auto architecture = "wide_resnet50_2";
/// The largest stage, and twice what a worker without a stage has.
constexpr std::uint64_t bytes_max = (82ULL + 172) << 20;

/// Weights with the names and sizes that the error about an empty file lists.
state_dict weights_for(const std::string& name) {
  const auto empty = build_named(name, "nothing", {}, true);
  const std::string listed = empty ? std::string() : empty.error().cause;
  state_dict made;
  const std::regex entry(R"(([\w.]+) \[([\d, ]+)\])");
  for (std::sregex_iterator at(listed.begin(), listed.end(), entry), end; at != end; ++at) {
    std::vector<std::int64_t> sizes;
    std::istringstream numbers((*at)[2].str());
    for (std::string one; std::getline(numbers, one, ',');) sizes.push_back(std::stoll(one));
    made.push_back({(*at)[1].str(), at::full(sizes, 0.01, at::kFloat)});
  }
  return made;
}

/// RssAnon and RssFile; nothing for a process that has ended.
std::optional<std::uint64_t> resident_bytes(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::uint64_t bytes = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:") || line.starts_with("RssFile:")) bytes += std::stoull(line.substr(8)) * 1024;
  }
  return bytes == 0 ? std::nullopt : std::optional(bytes);
}

TEST(memory_of_workers, is_that_of_their_stage_and_a_constant) {
  const scratch folder;
  const auto file = folder.path() / "weights.safetensors";
  ASSERT_TRUE(save_weights(file, weights_for(architecture)));
  ASSERT_GT(std::filesystem::file_size(file), 263ULL << 20);
  marked_run run({"eval", "--arch", architecture, "--weights", file.string(), "--data",
                  "cifar10:" + (data_dir() / "cifar10/test_batch_1000.bin").string(), "--limit", "400", "--micro-batch",
                  "8", "--stages", "4", "--partition", "parameters", "--processes", "--metrics", "accuracy"});
  std::map<pid_t, std::uint64_t> seen;
  run.on_tick = [&] {
    for (const pid_t worker : run.workers()) {
      if (const auto bytes = resident_bytes(worker)) seen[worker] = *bytes;
    }
    return std::vector<int>{};
  };
  const auto outcome = run.run();
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GE(seen.size(), 4U);
  for (const auto& [worker, bytes] : seen) EXPECT_LE(bytes, bytes_max) << "worker " << worker;
}

}  // namespace
}  // namespace troupe::testing
