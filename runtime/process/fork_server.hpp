#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <sys/types.h>

#include "runtime/process/exit_report.hpp"
#include "runtime/process/fd_channel.hpp"
#include "runtime/process/spawn_request.hpp"
#include "runtime/process/surroundings.hpp"

namespace troupe {

class exec_image;
class process_host;
struct fd_move;

/// The variable that makes a process a fork server; its value is the number of the socket.
inline constexpr const char* fork_server_variable = "TROUPE_FORK_SERVER";

/// How long a fork server may neither answer nor compute.
inline constexpr std::chrono::milliseconds fork_server_patience{1000};

/// When a fork server does what its copies then have done: at once, beside its maker, or before the first copy.
enum class fork_server_preparation : std::uint8_t { at_once, for_first_copy };

/// A process that has loaded this program, waits in the constructor of troupe::program, and becomes workers by copies
/// of itself. A copy is made in milliseconds, where the load of LibTorch takes a third of a second. Copies are children
/// of this process and not of the fork server (CLONE_PARENT): they are watched, ended and reaped as all workers are,
/// and the fork server's death does not touch them. A fork server that cannot do something is not used any more: the
/// program is executed then, as without one.
///
/// Nothing waits for a fork server: a copy is asked for, and taken when it is there. One that neither answers nor
/// computes for fork_server_patience is given up, as one that is frozen is: exec takes less.
///
/// A copy has the variables that exec would give it, or is not made. The same holds for working directory, user,
/// limits and cores (surroundings): they may have changed since the fork server was made.
///
/// The kernel ends the fork server, and its copies, with the thread that made it (PR_SET_PDEATHSIG).
class fork_server {
 public:
  /// A copy of this process, which must have one thread; `prepare` runs in it, and leaves one. Returns in both: the
  /// fork server in this one; null in the copies of the copy, which are workers then, and where nothing could be made.
  [[nodiscard]] static std::shared_ptr<fork_server> fork_here(fork_server_preparation when,
                                                              const std::function<void()>& prepare);

  /// Executes a program whose main() constructs troupe::program; loads while the caller goes on. Null if nothing could
  /// be made.
  [[nodiscard]] static std::shared_ptr<fork_server> start(spawn_request request,
                                                          std::chrono::milliseconds patience = fork_server_patience);

  fork_server(const fork_server&) = delete;
  fork_server& operator=(const fork_server&) = delete;
  ~fork_server();

  using time_point = std::chrono::steady_clock::time_point;

  /// Asks for a copy that becomes what the image says, with the descriptors of `moves`; it runs as if executed. False:
  /// there will be none, and the image has to be executed. That is so, too, while another copy is awaited.
  [[nodiscard]] bool ask(const exec_image& image, std::span<const fd_move> moves, time_point deadline);
  /// Of the copy that was asked for: nothing as long as it may come; its process, once; or 0: it does not come, and the
  /// fork server is not used any more.
  [[nodiscard]] std::optional<pid_t> take(time_point now);
  /// The copy is not awaited any longer: as take(), and never nothing.
  [[nodiscard]] pid_t give_up();
  /// take() is to be called when fd() can be read, and at wakes_at() at the latest.
  [[nodiscard]] int fd() const;
  [[nodiscard]] time_point wakes_at() const;

  /// Its copies live on. Again: nothing.
  void end();
  /// Nothing once it has ended.
  [[nodiscard]] std::optional<pid_t> pid() const;

 private:
  /// A copy that was asked for.
  struct awaited_copy {
    time_point until;
    /// Since when it has neither answered nor computed, and how much it had computed by then.
    time_point silent_since;
    std::chrono::nanoseconds computed;
  };

  fork_server(fd_channel channel, char* const* environment, std::chrono::milliseconds patience);
  [[nodiscard]] bool send(const std::string& text, std::span<const fd_move> moves);
  [[nodiscard]] bool is_silent(time_point now);
  [[nodiscard]] std::chrono::nanoseconds computed() const;
  [[nodiscard]] std::optional<pid_t> known_pid() const;
  [[nodiscard]] pid_t last_look();
  void retire();

  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::unique_ptr<fd_channel> channel_;
  std::optional<awaited_copy> awaited_;
  /// Variables of the fork server, "NAME=value" each.
  const std::set<std::string, std::less<>> environment_;
  const surroundings around_ = surroundings::now();
  /// Where it is a copy of this process.
  pid_t pid_ = 0;
  /// It was killed, and is to be reaped.
  pid_t killed_ = 0;
  /// Where it was executed. The host stays when the fork server goes: the kernel ends copies with its thread.
  std::unique_ptr<process_host> host_;
  worker_id executed_{};
};

/// In a process that fork server::start() has made: prepares at once, and does not return but in its copies. At the
/// start of main(), before there are other threads. Nothing to do in others.
void serve_fork_server_if_asked(const std::function<void()>& prepare);

}  // namespace troupe
