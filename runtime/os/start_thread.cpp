#include "runtime/os/start_thread.hpp"

namespace troupe {

tl::unexpected<error> no_thread(const std::string& where, const std::system_error& thrown) {
  return fail(error_code::process_failed, where, "the system gives no thread: " + thrown.code().message(),
              "Raise the limits of processes and memory (ulimit -u, ulimit -v), or run fewer stages");
}

}  // namespace troupe
