#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

struct checkpoint_content {
  /// By layer, with its keys.
  std::vector<state_dict> layers;
  /// The file optimizer_name; empty: none.
  state_dict optimizer = {};
  troupe::client_state client_state;
};

/// Writes a checkpoint (checkpoint_layout.hpp) into `dir`, which is made where it is not there. The folder of the tag
/// is written under another name and renamed, or, where the tag exists, exchanged with the old one, which then is
/// deleted; `latest` is written last. So a process that is killed at any point leaves the old checkpoint or the new
/// one, and `latest` names a whole one. What a killed save has left, the next one deletes: one process at a time saves
/// in a folder.
///
/// Errors: E0103 the tag, or a name in the client's state; E0611 it cannot be written, another process saves there, or
/// the tag's folder holds files that are not of a checkpoint; E0217. `between` is called between two operations on
/// files; null outside of tests.
expected<void> save_files(const std::filesystem::path& dir, const std::string& tag, const checkpoint_content& content,
                          const std::function<void()>& between = {});

}  // namespace troupe
