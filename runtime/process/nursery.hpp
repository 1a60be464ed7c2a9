#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "runtime/process/exit_report.hpp"
#include "runtime/process/fd_channel.hpp"
#include "runtime/process/spawn_request.hpp"

namespace troupe {

class process_host;
struct fd_move;

/// The variable that makes a process a nursery; its value is the number of the socket.
inline constexpr const char* nursery_variable = "TROUPE_NURSERY";

/// A process that has loaded this program, waits in the constructor of troupe::program, and becomes workers by copies
/// of itself. A copy is made in milliseconds, where the load of LibTorch takes a third of a second. Copies are children
/// of this process and not of the nursery (CLONE_PARENT): they are watched, ended and reaped as all workers are, and
/// the nursery's death does not touch them. A nursery that cannot do something is not used any more: the program is
/// executed then, as without one.
///
/// The kernel ends the nursery, and its copies, with the thread that made it (PR_SET_PDEATHSIG).
class nursery {
 public:
  /// A copy of this process, which must have one thread; `prepare` runs in it, and leaves one. Returns in both: the
  /// nursery in this one; null in the copies of the copy, which are workers then, and where nothing could be made.
  [[nodiscard]] static std::shared_ptr<nursery> fork_here(const std::function<void()>& prepare);

  /// Executes a program whose main() constructs troupe::program; loads while the caller goes on. Null if nothing could
  /// be made.
  [[nodiscard]] static std::shared_ptr<nursery> start(spawn_request request);

  nursery(const nursery&) = delete;
  nursery& operator=(const nursery&) = delete;
  ~nursery();

  /// The copy that becomes what the request says, with the descriptors of `moves`; it runs as if executed. 0: none, and
  /// the request has to be executed.
  [[nodiscard]] pid_t copy(const spawn_request& request, std::span<const fd_move> moves,
                           std::chrono::steady_clock::time_point deadline);

  /// Its copies live on. Again: nothing.
  void end();

 private:
  using variables = std::vector<std::pair<std::string, std::string>>;

  nursery(fd_channel channel, variables own);
  [[nodiscard]] bool ask(const std::string& text, std::span<const fd_move> moves);
  void retire();

  std::mutex mutex_;
  std::unique_ptr<fd_channel> channel_;
  /// What differs from the variables of this process.
  const variables own_;
  /// Where it is a copy of this process.
  pid_t pid_ = 0;
  /// Where it was executed. The host stays when the nursery goes: the kernel ends copies with its thread.
  std::unique_ptr<process_host> host_;
  worker_id executed_{};
};

/// Of this process, if it has one: for workers that are this program.
[[nodiscard]] std::shared_ptr<nursery>& own_nursery();

/// In a process that nursery::start() has made: does not return but in its copies. At the start of main(), before there
/// are other threads. Nothing to do in others.
void serve_nursery_if_asked(const std::function<void()>& prepare);

}  // namespace troupe
