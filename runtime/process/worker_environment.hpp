#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <troupe/messages/error.hpp>

namespace troupe {

/// The variable that makes a process a worker.
inline constexpr const char* worker_variable = "TROUPE_WORKER";

/// What a worker finds at its start. All secrets lie behind descriptors: everybody on the machine may see a variable's
/// text. Descriptor numbers lie between 3 and worker_inherited_fd_max and are distinct.
struct worker_environment {
  int channel = -1;         ///< socket for fd_channel::adopt()
  int ca_certificate = -1;  ///< memory files (memory_file::path_of)
  int certificate = -1;
  int key = -1;
  int token = -1;          ///< memory file with the run_token in hexadecimal digits
  std::uint16_t port = 0;  ///< where the driver listens on this machine's loopback; not 0

  friend bool operator==(const worker_environment&, const worker_environment&) = default;
};

/// "version=1;channel=3;ca=4;certificate=5;key=6;token=7;port=40000", in this order.
[[nodiscard]] std::string encode(const worker_environment& environment);

/// Takes exactly what encode() gives. E0703 for another version, E0702 for anything else.
[[nodiscard]] expected<worker_environment> parse_worker_environment(std::string_view text);

/// True in a process that was started as a worker, also after take_worker_environment().
[[nodiscard]] bool is_worker_process() noexcept;

/// Reads the variable and removes it, so that no program which the worker starts believes to be one. Nothing if there
/// is none (any more). At the start of main(), before there are other threads: it changes the environment.
[[nodiscard]] expected<std::optional<worker_environment>> take_worker_environment();

}  // namespace troupe
