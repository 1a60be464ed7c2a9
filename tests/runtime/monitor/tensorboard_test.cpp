// Goal: TensorBoard reads the scalars back, each step once, also where a writer left a part of a record.
// Method: read_back.py, run by the Python that TROUPE_TENSORBOARD_PYTHON names, else python3, if that has the package.
#include <cstdio>
#include <cstdlib>

#include "../../support/paths.hpp"
#include "monitor_folder.hpp"

namespace troupe::testing {
namespace {

class tensorboard : public monitor_folder {
 protected:
  void SetUp() override {
    const char* given = std::getenv("TROUPE_TENSORBOARD_PYTHON");
    python_ = given != nullptr ? given : "python3";
    const bool has_package = std::system(("\"" + python_ + "\" -c 'import tensorboard' 2>/dev/null").c_str()) == 0;
    // who names a Python wants it used
    if (given == nullptr && !has_package) {
      GTEST_SKIP() << "python3 has no tensorboard; name a Python that has it in TROUPE_TENSORBOARD_PYTHON";
    }
  }

  [[nodiscard]] std::string read_back() const {
    const std::string script = (source_dir() / "tests/runtime/monitor/read_back.py").string();
    const std::string command = "\"" + python_ + "\" \"" + script + "\" \"" + folder_.string() + "\" 2>/dev/null";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    EXPECT_EQ(::pclose(pipe), 0);
    return text;
  }

  std::string python_;
};

TEST_F(tensorboard, reads_all_scalars_once) {
  {
    auto log = scalar_log::open(folder_);
    ASSERT_TRUE(log);
    for (const std::uint64_t step : {100U, 200U}) {
      ASSERT_TRUE((*log)->write(step, std::vector<scalar>{{"eval/accuracy", 0.5}, {"eval/nll", 0.25}}));
    }
  }
  const auto torn = event_files(folder_).front();
  const auto size = std::filesystem::file_size(torn);
  write(folder_, 300, {{"eval/accuracy", 0.75}});
  // the first file gets what a writer leaves that is killed within a record
  std::ofstream(torn, std::ios::binary | std::ios::app) << content(torn).substr(size / 2, 9);
  EXPECT_EQ(write(folder_, 200, {{"eval/accuracy", 0.5}, {"eval/nll", 0.25}}), 0U);
  EXPECT_EQ(write(folder_, 9223372036854775807, {{"eval/\u00e4", 1}}), 1U);
  EXPECT_EQ(read_back(),
            "eval/accuracy 100 0.5\neval/accuracy 200 0.5\neval/accuracy 300 0.75\n"
            "eval/nll 100 0.25\neval/nll 200 0.25\neval/\u00e4 9223372036854775807 1.0\n");
}

}  // namespace
}  // namespace troupe::testing
