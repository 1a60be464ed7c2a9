#include "runtime/log/rank_logs.hpp"

#include <filesystem>
#include <utility>

namespace troupe {

expected<std::shared_ptr<rank_logs>> rank_logs::open(const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed) return fail(error_code::output_unwritable, directory, failed.message(), "choose another --log-dir");
  return std::shared_ptr<rank_logs>(new rank_logs(directory));
}

bool rank_logs::take(const log_record& record, const log_function& log) {
  if (!record.rank) return false;
  const std::lock_guard lock{mutex_};
  auto found = writers_.find(*record.rank);
  if (found == writers_.end()) {
    auto opened =
        log_writer::open({.file = directory_ + "/rank-" + std::to_string(*record.rank) + ".log", .is_own_name = true});
    found = writers_.emplace(*record.rank, opened ? std::move(*opened) : nullptr).first;
    if (!opened) log({.level = log_level::warning, .text = to_string(opened.error()), .rank = record.rank});
  }
  if (found->second == nullptr) return false;
  found->second->write(record);
  return record.level < log_level::warning;
}

}  // namespace troupe
