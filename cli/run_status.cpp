#include "run_status.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "messages/printable.hpp"
#include "output.hpp"
#include "runtime/report/atomic_file.hpp"
#include <troupe/evaluator.hpp>

namespace troupe::cli {

exit_status status_of_errors(const std::vector<error>& errors) {
  for (const error& each : errors) {
    const exit_status status = status_of(each.code);
    if (status == exit_status::interrupted || status == exit_status::deadline) return status;
  }
  return errors.empty() ? exit_status::ok : status_of(errors.front().code);
}

exit_status status_of_result(const run_result& result) {
  const bool has_lost = result.errors.empty() && result.delivery.lost > 0;
  return has_lost ? exit_status::work_lost : status_of_errors(result.errors);
}

expected<void> write_result_file(const std::filesystem::path& path, const std::string& content) {
  return atomic_write_file(path, content).map([&] { say(fmt::format("wrote {}\n", printable(path.string()))); });
}

expected<exit_status> leave(expected<exit_status> status) {
  if (!has_abandoned_threads()) return status;
  if (!status) say_error(status.error());
  std::_Exit(static_cast<int>(status ? *status : status_of(status.error().code)));
}

}  // namespace troupe::cli
