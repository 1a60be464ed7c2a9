#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/monitor/event_record.hpp"
#include <troupe/scalars.hpp>

namespace troupe::testing {

/// Tests with a folder of their own.
class monitor_folder : public ::testing::Test {
 protected:
  monitor_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "test-monitor-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~monitor_folder() override { std::filesystem::remove_all(folder_); }

  static std::string content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  static std::size_t write(const std::filesystem::path& target, std::uint64_t step,
                           const std::vector<scalar>& scalars) {
    auto log = scalar_log::open(target);
    EXPECT_TRUE(log) << to_string(log.error());
    const auto written = (*log)->write(step, scalars);
    EXPECT_TRUE(written) << to_string(written.error());
    return *written;
  }
  /// The event files in a folder, by name.
  static std::vector<std::filesystem::path> event_files(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> found;
    for (const auto& each : std::filesystem::directory_iterator(folder)) {
      if (each.path().filename().string().starts_with("events.out.tfevents.")) found.push_back(each.path());
    }
    std::ranges::sort(found);
    return found;
  }
  /// "STEP NAME" of all whole records.
  static std::vector<std::string> events_in(const std::filesystem::path& folder) {
    std::vector<std::string> found;
    for (const auto& path : event_files(folder)) {
      std::ifstream file(path, std::ios::binary);
      while (const auto data = next_record(file)) {
        const auto event = names_in_event(*data);
        EXPECT_TRUE(event) << path;
        for (const std::string& name : event->names) found.push_back(std::to_string(event->step) + " " + name);
      }
    }
    return found;
  }

  std::filesystem::path folder_;
};

}  // namespace troupe::testing
