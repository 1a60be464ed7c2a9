#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "messages/agent.hpp"
#include "messages/codec/message_kind.hpp"
#include "messages/failure.hpp"
#include "messages/lifecycle.hpp"
#include "messages/score.hpp"
#include "messages/score_batch.hpp"
#include "messages/training.hpp"
#include "messages/worker.hpp"
#include <troupe/error.hpp>

/// Messages as bytes, for the way between processes: msgpack in an envelope [version, kind, [fields...]]
/// (docs/messages.md).
///
/// Exact: decode(encode(m)) equals m to the bit, with two exceptions. Payload handles (a score's outputs) do not
/// travel; they are null afterwards. Strings are cut at limits::wire_string_bytes_max, so that a failure can be told
/// however long its text is. No field is a floating-point number: doubles are bit patterns. Threads: functions without
/// state. Instantiated for every type with a message_kind of its name.
namespace troupe::codec {

using bytes = std::vector<std::byte>;

/// Fails with E0701 alone: more scores, words or bytes than the limits permit.
template <class Message>
expected<bytes> encode(const Message& message);

/// For bytes from anywhere. All sizes are checked against limits.hpp and against the bytes that are there before memory
/// is allocated. Errors name the byte offset: E0701 too large, E0702 malformed (cut short, wrong type, wrong number of
/// fields, value out of range, bytes left over), E0703 another version, E0704 too deep, E0705 unknown kind or not this
/// one. Ids are not compared with the wiring; that is the receiver's.
template <class Message>
expected<Message> decode(std::span<const std::byte> input);

/// Which message it is, for a receiver of several kinds. Checks all but the fields.
expected<message_kind> kind_of(std::span<const std::byte> input);

}  // namespace troupe::codec
