#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/os/unique_fd.hpp"

namespace troupe {

class fork_server;

/// A descriptor that the child finds under `number` (3 to limits::worker_inherited_fd_max). The request owns this copy
/// and closes it when it is destroyed.
struct inherited_fd {
  unique_fd fd;
  int number = -1;
};

/// What to start, and what it inherits: the working directory, the user and the limits as every process does; of the
/// descriptors only those named here; of the environment everything, with the changes named here.
struct spawn_request {
  /// For messages: "stage 1/replica 0".
  std::string name;
  /// The default is this program itself, also after its file was replaced.
  std::string program = "/proc/self/exe";
  /// With argv[0]. Empty: the program's path alone.
  std::vector<std::string> arguments;
  /// Name and value; they replace variables of the same name.
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<inherited_fd> fds;
  /// Its standard descriptors. Without one, input is /dev/null, and output and error are pipes that the starter reads.
  unique_fd standard_input = {};
  unique_fd standard_output = {};
  unique_fd standard_error = {};

  /// Copies itself in place of the start of `program` with `arguments`, which it is. Null, or one that cannot: exec.
  std::shared_ptr<fork_server> from = {};

  /// The child has its own copies.
  void close_descriptors() {
    fds.clear();
    for (unique_fd* each : {&standard_input, &standard_output, &standard_error}) each->reset();
  }
};

}  // namespace troupe
