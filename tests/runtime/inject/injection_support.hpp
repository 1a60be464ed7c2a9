// Support of the tests of injection: triggers as a plan spells them.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "runtime/inject/faulty_transport.hpp"

namespace troupe::testing {

inline std::shared_ptr<message_trigger> trigger(const std::string& text, message_trigger::may_inject may = {}) {
  auto read = parse_fault(text);
  if (!read) throw std::runtime_error(to_string(read.error()));
  return std::make_shared<message_trigger>(std::move(*read), std::move(may));
}

}  // namespace troupe::testing
