#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/cli/scratch.hpp"

namespace troupe::testing {

/// The places outside of its working directory in which a run could leave files: TMPDIR and /dev/shm, each of them this
/// run's own, so that another run at the same time is never taken for it. Where the system allows no mount namespace,
/// not even in a user namespace, /dev/shm stays the machine's, and each new file in it counts.
class private_places {
 public:
  private_places();

  /// "TMPDIR=...".
  [[nodiscard]] std::string variable() const;
  /// The command line that runs `program` with these places: it becomes `program`, in the same process.
  [[nodiscard]] std::vector<std::string> command(const std::string& program,
                                                 const std::vector<std::string>& arguments) const;
  /// Files that are there now and were not at the start.
  [[nodiscard]] std::set<std::string> left_behind() const;

 private:
  scratch root_;
  std::set<std::string> before_;
};

}  // namespace troupe::testing
