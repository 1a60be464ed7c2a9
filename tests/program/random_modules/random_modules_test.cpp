// Goal: an optimised model computes what the plain one does, for every form that a layer can have. Method: random
// modules from seeds that differ from run to run, and those that ever failed (failed_seeds.txt); the right values come
// from calls of ATen, which know neither TorchScript nor Troupe. Each module runs with each mode of optimisation, one
// to three stages and, some of them, in worker processes.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/program/random_modules/module_places.hpp"
#include "tests/program/random_modules/random_module.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sanitized.hpp"
#include <troupe/program.hpp>

namespace troupe::testing {
namespace {

using ::testing::IsSupersetOf;

constexpr std::int64_t first_samples = 4;

class module_folder {
 public:
  module_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "test-modules-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  module_folder(const module_folder&) = delete;
  module_folder& operator=(const module_folder&) = delete;
  ~module_folder() { std::filesystem::remove_all(path_); }

  /// In two micro-batches of different size.
  [[nodiscard]] module_case case_of(const random_module& module) const {
    module_case made{.name = "seed " + std::to_string(module.seed), .model = path_ / "model.pt"};
    torchscript_of(module).save(made.model.string());
    const at::Tensor& all = module.input;
    made.batches = {all.narrow(0, 0, first_samples), all.narrow(0, first_samples, all.size(0) - first_samples)};
    for (const at::Tensor& each : made.batches) made.wanted.push_back(plain_output(module, each));
    made.tolerance = tolerance_of(all.scalar_type());
    made.is_from_here = true;
    return made;
  }

 private:
  std::filesystem::path path_;
};

std::string failure_of(std::uint64_t seed, bool also_in_workers) {
  const module_folder folder;
  const random_module module = draw_module(seed);
  const module_case what = folder.case_of(module);
  std::vector<module_place> places = places_of_turn(seed);
  if (also_in_workers) {
    for (const module_place& each : worker_places()) places.push_back(each);
  }
  const std::vector<module_finding> found = findings_of(what, places);
  if (found.empty()) return {};
  std::ostringstream text;
  text << "seed " << seed << ", again with TROUPE_RANDOM_MODULES=" << seed << "..1\n";
  for (const auto& [place, why] : found) text << to_string(place) << ": " << why << '\n';
  text << text_of(module);
  return text.str();
}

struct asked_seeds {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// TROUPE_RANDOM_MODULES=FIRST..COUNT, or fresh ones.
asked_seeds seeds_to_run() {
  if (const char* const given = std::getenv("TROUPE_RANDOM_MODULES"); given != nullptr) {
    const std::string text = given;
    const std::size_t dots = std::min(text.find(".."), text.size());
    const std::string count = dots < text.size() ? text.substr(dots + 2) : "1";
    return {std::strtoull(text.c_str(), nullptr, 10), std::strtoull(count.c_str(), nullptr, 10)};
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()),
          sanitized ? 10u : 100u};
}

TEST(fresh_modules, give_the_values_of_plain_operators_everywhere) {
  using clock = std::chrono::steady_clock;
  const bool is_given = std::getenv("TROUPE_RANDOM_MODULES") != nullptr;
  const asked_seeds seeds = seeds_to_run();
  RecordProperty("first_seed", std::to_string(seeds.first));
  const auto end = clock::now() + std::chrono::minutes{sanitized ? 3 : 1};
  std::uint64_t done = 0;
  std::uint64_t wrong = 0;
  for (; done < seeds.count && (is_given || clock::now() < end); ++done) {
    const std::string why = failure_of(seeds.first + done, done % 25 == 0);
    if (!why.empty()) ADD_FAILURE() << why;
    wrong += why.empty() ? 0u : 1u;
    ASSERT_TRUE(is_given || wrong < 3) << "further modules are left out";
  }
  EXPECT_GE(done, std::min<std::uint64_t>(seeds.count, 10));
  EXPECT_EQ(wrong, 0u) << "of " << done;
}

TEST(failed_modules, fail_no_more) {
  std::ifstream file(source_dir() / "tests/program/random_modules/failed_seeds.txt");
  ASSERT_TRUE(file);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    ++count;
    if (sanitized && count % 4 != 0) continue;
    const std::string why = failure_of(std::strtoull(line.c_str(), nullptr, 10), false);
    if (!why.empty()) ADD_FAILURE() << line << '\n' << why;
  }
  EXPECT_GT(count, 0u);
}

TEST(random_modules, have_all_kinds_of_operations_types_and_reuse) {
  std::set<std::string> found;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const random_module module = draw_module(seed);
    found.insert(c10::toString(module.input.scalar_type()));
    if (!module.input.is_contiguous()) found.insert("channels last, " + std::to_string(module.input.dim()));
    for (const random_block& block : module.blocks) {
      for (const random_step& step : block.steps) {
        found.insert(step.kind);
        if (step.called_again) found.insert("called again");
        if (step.inputs.size() == 2) found.insert("skip");
      }
    }
  }
  EXPECT_THAT(found, IsSupersetOf({"Float", "Double", "BFloat16", "Half", "channels last, 4", "channels last, 5",
                                   "called again", "skip", "linear"}));
  EXPECT_THAT(found,
              IsSupersetOf({"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
                            "layer_norm", "group_norm", "instance_norm", "instance_norm with statistics"}));
  EXPECT_THAT(found,
              IsSupersetOf({"batch_norm of 2 dimensions", "batch_norm of 3 dimensions", "batch_norm of 4 dimensions",
                            "batch_norm of 5 dimensions", "constant in place", "constant with alpha", "number mul",
                            "pair cat", "max_pool", "avg_pool", "transpose", "flatten", "torch.relu_($0)"}));
  for (int dims = 2; dims <= 5; ++dims) {
    for (int of = 0; of <= dims; ++of) {
      EXPECT_TRUE(found.contains("constant of " + std::to_string(of) + " for " + std::to_string(dims)))
          << of << " for " << dims;
    }
  }
}

}  // namespace
}  // namespace troupe::testing

int main(int argc, char** argv) {
  const troupe::program self(argc, argv);
  troupe::testing::serve_module_if_asked();
  at::set_num_threads(1);  // as the stages have
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
