#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/score.hpp"
#include "runtime/journal/step_record.hpp"

namespace troupe {

/// One thing that a resumed run must have in common with the first: "micro_batch", "64".
struct journal_pin {
  std::string name;
  std::string value;
  bool operator==(const journal_pin&) const = default;
};
using journal_pins = std::vector<journal_pin>;

/// The bytes of a journal, docs/journal.md: the magic, then records of
///   length u32 | CRC-32 of the length's four bytes u32 | payload | CRC-32 of the payload u32
/// all little-endian; the first record is the header, every other one a state or the decision of a step. The length has
/// a checksum of its own so that a damaged one is not taken for a last record that was cut short.
namespace journal_format {

inline constexpr std::string_view magic = "TROUPE-J";
/// The first pin of every header. To be raised when records, pins or the words of a metric's state change meaning.
inline constexpr std::string_view version = "2";
/// The second pin: to be raised by every change of Troupe by which the same run folds other bits than before. (Counts
/// and sums of a resumed run would otherwise be made of two kinds of bits.) A header without it means 1.
inline constexpr const char* bits_pin = "bits";
inline constexpr const char* bits_version = "1";
inline constexpr std::size_t head_bytes = 8;
inline constexpr std::size_t checksum_bytes = 4;

using bytes = std::vector<std::uint8_t>;

/// Magic and header record. Its payload is read back only up to limits::journal_header_bytes_max.
bytes encode_header(const journal_pins& pins);
/// Appends a state record; `state.words` are at most limits::score_words_max.
void append_state(bytes& out, const score& state);

/// Appends the record of a step; `step.folded` are at most limits::score_words_max.
void append_step(bytes& out, const step_record& step);

enum class record_check : std::uint8_t {
  of_checksums,
  none,  ///< only in mutation tests, which must then find a damaged state
};

/// The payload's length as a record's head tells it; nothing if its checksum does not match.
std::optional<std::uint32_t> decode_head(std::span<const std::uint8_t, head_bytes> head);
/// Whether `payload` is what the four bytes behind it were made from.
bool checksum_matches(std::span<const std::uint8_t> payload, std::span<const std::uint8_t, checksum_bytes> stored);
/// Nothing where the payload is no header, no state, or no step, to its last byte.
std::optional<journal_pins> decode_header(std::span<const std::uint8_t> payload);
std::optional<score> decode_state(std::span<const std::uint8_t> payload);
std::optional<step_record> decode_step(std::span<const std::uint8_t> payload);

}  // namespace journal_format
}  // namespace troupe
