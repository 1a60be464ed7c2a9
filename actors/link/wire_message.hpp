#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "actors/caf.hpp"

namespace troupe {

/// All that CAF carries between processes: the bytes of messages/codec. One type, as CAF 0.17's own serializer changes
/// floating-point numbers, and as the codec checks every size before it allocates. Whoever decodes refuses more than
/// limits::wire_message_bytes_max; a link refuses a frame that could not be such a message before it is read.
struct wire_message {
  std::vector<std::uint8_t> bytes;

  friend bool operator==(const wire_message&, const wire_message&) = default;
};

/// Copies.
[[nodiscard]] inline wire_message wire_of(std::span<const std::byte> bytes) {
  wire_message made;
  made.bytes.resize(bytes.size());
  if (!bytes.empty()) std::memcpy(made.bytes.data(), bytes.data(), bytes.size());
  return made;
}
[[nodiscard]] inline std::span<const std::byte> bytes_of(const wire_message& message) {
  return std::as_bytes(std::span{message.bytes});
}

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, wire_message& message) {
  return f(caf::meta::type_name("troupe::wire_message"), message.bytes);
}

/// An end of a link. The receiver knows the sender as self->current_sender(), which actor_cast<wire_actor>() makes an
/// address to answer to and to monitor.
using wire_actor = caf::typed_actor<cast<wire_message>>;

}  // namespace troupe

CAF_BEGIN_TYPE_ID_BLOCK(troupe_wire, caf::first_custom_type_id)
CAF_ADD_TYPE_ID(troupe_wire, (troupe::wire_message))
CAF_END_TYPE_ID_BLOCK(troupe_wire)
