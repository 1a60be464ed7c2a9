#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/log/log_writer.hpp"
#include <troupe/error.hpp>
#include <troupe/log_record.hpp>

namespace troupe {

/// A file per worker, "rank-3.log", for what workers print (troupe launch --log-dir). Threads: any.
class rank_logs {
 public:
  /// Makes the directory if need be. E0611 where that fails.
  [[nodiscard]] static expected<std::shared_ptr<rank_logs>> open(const std::string& directory);

  /// Records with a rank go to its file; true if the record has been taken and is no warning or error, so that it need
  /// not be told elsewhere. A file that cannot be opened takes nothing, which `log` is told once; another's link is
  /// such a file, as the names are known to all.
  bool take(const log_record& record, const log_function& log);

 private:
  explicit rank_logs(std::string directory) : directory_(std::move(directory)) {}

  const std::string directory_;
  std::mutex mutex_;
  /// Null where the file could not be opened.
  std::map<std::uint32_t, std::unique_ptr<log_writer>> writers_;
};

}  // namespace troupe
