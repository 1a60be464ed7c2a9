#include "program/launch/process_context.hpp"

#include <utility>

namespace troupe {
namespace {

process_context& told() noexcept {
  static process_context of_this_process;
  return of_this_process;
}

}  // namespace

const process_context& process_context::of_this_process() noexcept {
  return told();
}

void process_context::tell(process_context made) {
  told() = std::move(made);
}

}  // namespace troupe
