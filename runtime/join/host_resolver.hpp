#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// Finds the numeric addresses of one host. The system's resolver waits as long as it likes, so it has a thread of its
/// own, which outlives the object where it must. Threads: one.
class host_resolver {
 public:
  explicit host_resolver(std::string host) : host_(std::move(host)) {}

  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  /// In the system's order, without duplicates; of a numeric address itself. E0708 for a name that has none yet, and
  /// where the answer is not there `until`; it may be there the next time. E0614 where the system gives no thread.
  [[nodiscard]] expected<std::vector<std::string>> find(std::chrono::steady_clock::time_point until);

 private:
  struct lookup;
  const std::string host_;
  /// Under way.
  std::shared_ptr<lookup> lookup_;
};

}  // namespace troupe
