#pragma once

#include <memory>

#include "runtime/link/message_link.hpp"

namespace troupe {

/// One end of a link over which each message is told once and in order, whatever the link below loses, doubles or
/// brings late. Both ends must be made by this. Messages travel as numbered_message: an end keeps what it has sent
/// until the other end has said that it was heard, and says it again after limits::message_repeat_beats. A link on
/// which nothing is heard for limits::message_unheard_beats is lost (E0708), although heartbeats may pass.
///
/// A message so large that its number does not fit beside it (limits::wire_message_bytes_max) travels as it is: no
/// fault of a reliable link below hurts it. A message of another kind is told as it is.
[[nodiscard]] std::shared_ptr<message_link> number_messages(std::shared_ptr<message_link> below);

}  // namespace troupe
