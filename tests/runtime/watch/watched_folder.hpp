#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/watch/watch.hpp"

namespace troupe::testing {

/// Tests with a folder of checkpoints and a time of their own.
class watched_folder : public ::testing::Test {
 protected:
  using ms = std::chrono::milliseconds;

  watched_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "test-watch-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~watched_folder() override { std::filesystem::remove_all(folder_); }

  void put(const std::string& name, const std::string& text = "weights") const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  /// As result.json has it.
  static nlohmann::ordered_json accuracy(double value) {
    const auto number = std::isnan(value) ? nlohmann::ordered_json("NaN") : nlohmann::ordered_json(value);
    return {{"accuracy", {{"value", number}, {"total", 10}}}};
  }

  [[nodiscard]] watch_request request() const {
    return {.folder = folder_, .state = folder_ / "troupe-watch", .monitor = {"accuracy"}, .once = true};
  }
  /// An evaluation has the value in values_; time passes in pauses only.
  [[nodiscard]] watch_means means() {
    watch_means made;
    made.evaluate = [this](const seen_checkpoint& which) -> expected<nlohmann::ordered_json> {
      evaluated_.push_back(which.name);
      const auto found = values_.find(which.name);
      if (found == values_.end()) return fail(error_code::model_damaged, which.name, "it is damaged");
      return accuracy(found->second);
    };
    made.pause = [this](ms time) {
      now_ += time;
      if (on_pause_) on_pause_();
      return now_ - std::chrono::steady_clock::time_point() < std::chrono::hours(1);
    };
    made.now = [this] { return now_; };
    made.wall_now = [this] {
      return began_ + std::chrono::duration_cast<std::filesystem::file_time_type::duration>(now_.time_since_epoch());
    };
    return made;
  }
  static std::vector<std::string> names(const watch_report& report) {
    std::vector<std::string> found;
    for (const watch_row& row : report.rows) found.push_back(row.checkpoint);
    return found;
  }
  [[nodiscard]] std::string best_link() const {
    std::error_code problem;
    return std::filesystem::read_symlink(folder_ / "best", problem).string();
  }

  std::filesystem::path folder_;
  std::map<std::string, double> values_;
  std::vector<std::string> evaluated_;
  std::function<void()> on_pause_;
  std::chrono::steady_clock::time_point now_;
  const std::filesystem::file_time_type began_ = std::filesystem::file_time_type::clock::now();
};

}  // namespace troupe::testing
