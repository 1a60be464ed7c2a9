// Support of the tests of injection: triggers as a plan spells them.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/inject/faulty_transport.hpp"

namespace troupe::testing {

/// Of a run that begins at `start`.
inline std::shared_ptr<message_trigger> trigger(const std::string& text, message_trigger::may_inject may = {},
                                                run_start::clock::time_point start = run_start::clock::now()) {
  auto read = parse_fault(text);
  if (!read) throw std::runtime_error(to_string(read.error()));
  const auto began = std::make_shared<run_start>();
  began->begin(start);
  return std::make_shared<message_trigger>(std::move(*read), began, std::move(may));
}

}  // namespace troupe::testing
