#include "guarded.hpp"

#include <csignal>
#include <exception>
#include <new>

#include "messages/exception_text.hpp"
#include "output.hpp"
#include "runtime/os/standard_descriptors.hpp"
#include "runtime/process/error_line.hpp"

namespace troupe::cli {
namespace {

/// The layers below give errors as values; an exception means that memory ran out, or a fault of ours.
expected<exit_status> run_caught(const std::string& name, const std::function<expected<exit_status>()>& run) try {
  return run();
} catch (const std::bad_alloc&) {
  return fail(error_code::process_failed, name, "the system gives no memory",
              "Raise the limit of memory (ulimit -v, or a container's), or use a smaller --micro-batch");
} catch (const std::exception& e) {
  return fail(error_code::internal, name, exception_text(e), "report this with the command line");
}

}  // namespace

void settle_process() noexcept {
  reserve_standard_descriptors();
  read_error_line_variable();
  // A reader that went away is an error with a message (E0611), not a silent death.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that may not grow any more (E0611, E0803).
  std::signal(SIGXFSZ, SIG_IGN);
}

exit_status run_guarded(const std::string& name, const std::function<expected<exit_status>()>& run) {
  const auto status = run_caught(name, run);
  if (status) return *status;
  say_error(status.error());
  return status_of(status.error().code);
}

}  // namespace troupe::cli
