#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <troupe/error.hpp>

namespace troupe {

/// The variable that makes a process a worker.
inline constexpr const char* worker_variable = "TROUPE_WORKER";

/// What a worker finds at its start: numbers of descriptors, between 3 and worker_inherited_fd_max and distinct. No
/// secret: every process of the user may see a variable's text.
struct worker_environment {
  int channel = -1;  ///< socket for fd_channel::adopt()
  int link = -1;     ///< stream socket of the control plane, for adopt_socket()
  /// Text of a node_network (runtime/local_host/node_network.hpp), in a memory_file; 0: the run has one host alone.
  int network = 0;

  friend bool operator==(const worker_environment&, const worker_environment&) = default;
};

/// "version=3;channel=3;link=4;network=5", in this order.
[[nodiscard]] std::string encode(const worker_environment& environment);

/// Takes exactly what encode() gives. E0703 for another version, E0702 for anything else.
[[nodiscard]] expected<worker_environment> parse_worker_environment(std::string_view text);

/// Reads the variable and removes it, so that no program which the worker starts verifies to be one; its descriptors
/// close in exec from then on, so that no such program has them either. Nothing if there is none (any more). At the
/// start of main(), before there are other threads: it changes the environment.
[[nodiscard]] expected<std::optional<worker_environment>> take_worker_environment();

}  // namespace troupe
