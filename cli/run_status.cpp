#include "run_status.hpp"

#include <cstdlib>

#include "output.hpp"
#include <troupe/evaluator.hpp>

namespace troupe::cli {

exit_status status_of_result(const run_result& result) {
  for (const error& each : result.errors) {
    const exit_status status = status_of(each.code);
    if (status == exit_status::interrupted || status == exit_status::deadline) return status;
  }
  if (!result.errors.empty()) return status_of(result.errors.front().code);
  return result.delivery.lost == 0 ? exit_status::ok : exit_status::work_lost;
}

expected<exit_status> leave(expected<exit_status> status) {
  if (!has_abandoned_threads()) return status;
  if (!status) say_error(status.error());
  std::_Exit(static_cast<int>(status ? *status : status_of(status.error().code)));
}

}  // namespace troupe::cli
