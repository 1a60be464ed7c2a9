#pragma once

#include <cstdint>

#include "messages/ids.hpp"

namespace troupe {

/// receiver -> sender, over an edge: `slots` buffers of the receiver are free again. Granted when the receiver is ready
/// to be sent to, never on the completion of a send.
struct credit {
  std::uint32_t slots = 0;
  incarnation_number sender_incarnation = 0;
};

}  // namespace troupe
