#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "messages/agent.hpp"
#include "runtime/agent/fetched_files.hpp"
#include "runtime/agent/file_cache.hpp"

namespace troupe {

struct node_files_options {
  std::string node;
  /// The directory of a file_cache; may be empty.
  std::string cache;
  /// Called by check() and add().
  std::function<void(const file_answer&)> answer;
  /// Files are not read to their end any more.
  std::function<bool()> is_ending;
};

/// The files that a driver wants to be the same on this node. One that is there is used; one that is not comes from the
/// cache, or from the driver into the cache.
///
///   idle --check(): it is here--> idle
///   idle --check(): it is not--> fetching --add() of its last part, check() of the next file--> idle
///
/// Errors are the driver's mistakes, E0701 and E0702; or what keeps the file from being the same, and names the node
/// and the file: E0617 for another file, E0611 where there is no place for it. Nothing is to follow an error. Threads:
/// one.
class node_files {
 public:
  explicit node_files(node_files_options options);
  ~node_files();

  [[nodiscard]] expected<void> check(const check_file& asked);
  [[nodiscard]] expected<void> add(const file_part& part);
  /// Files that are not where their paths say.
  [[nodiscard]] const fetched_files& fetched() const noexcept { return fetched_; }

 private:
  struct fetch;
  /// True if it is at its path; E0617 if another one is.
  [[nodiscard]] expected<bool> look_at_path(const file_identity& wanted);
  [[nodiscard]] expected<bool> look_in_cache(const file_identity& wanted);
  [[nodiscard]] expected<void> begin(const check_file& asked);
  [[nodiscard]] expected<void> finish();
  [[nodiscard]] read_watch watch() const;
  void answer(file_state state, std::uint64_t bytes) const;
  [[nodiscard]] error named(const file_identity& file, const error& why) const;

  const node_files_options options_;
  const file_cache cache_;
  known_contents known_;
  fetched_files fetched_;
  std::uint64_t number_ = 0;
  std::unique_ptr<fetch> fetch_;
};

}  // namespace troupe
