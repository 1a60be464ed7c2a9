#pragma once

#include <string>
#include <vector>

#include "tests/cli/scratch.hpp"

namespace troupe::testing {

using words = std::vector<std::string>;

/// An error of the command line, and what a user does who follows its fix to the letter. "@/" begins the names of files
/// of the repository.
struct followed_fix {
  std::string name;
  /// "E0101"
  std::string code;
  words arguments;
  /// Stands in the line of the fix.
  std::string fix;
  words then;
  /// What the fix says to do with files; may be null.
  void (*act)(const scratch&) = nullptr;
  /// Good commands before, so that there is something to be in the way.
  std::vector<words> before = {};
  words environment = {};
  words then_environment = {};
};

std::vector<followed_fix> followed_fixes();

/// Files of the rows beside those of make_bad_files().
void make_files_to_mend(const scratch& directory);

/// A code without a row, and why it has none.
struct fix_outside {
  std::string code;
  std::string reason;
};

std::vector<fix_outside> fixes_outside();

}  // namespace troupe::testing
