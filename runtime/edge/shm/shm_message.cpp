#include "runtime/edge/shm/shm_message.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "messages/try.hpp"
#include "runtime/os/crc32c.hpp"

namespace troupe::shm {
namespace {

constexpr std::uint64_t aligned(std::uint64_t at) noexcept {
  return (at + limits::payload_alignment - 1) / limits::payload_alignment * limits::payload_alignment;
}

constexpr std::uint64_t present(std::uint64_t bytes) noexcept {
  return bytes == absent ? 0 : bytes;
}

// Copied before they are checked: checked rows cannot change any more.
expected<row_set_ptr> read_rows(std::uint64_t count, std::uint64_t samples, std::span<const std::byte> room) {
  if (count > samples || count > limits::micro_batch_max) return nonsense("more rows than samples");
  auto rows = std::make_shared<row_set>(count);
  if (!rows->empty()) std::memcpy(rows->data(), room.data(), rows->size() * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < rows->size(); ++i) {
    if ((*rows)[i] >= samples || (i > 0 && (*rows)[i] <= (*rows)[i - 1])) return nonsense("rows out of order");
  }
  return rows;
}

}  // namespace

tl::unexpected<error> nonsense(std::string cause) {
  return fail(error_code::wire_malformed, "shared-memory edge", std::move(cause),
              "Check the peer: it is damaged, or another version of Troupe");
}

std::optional<message_layout> lay_out(const message_header& header) noexcept {
  const std::uint64_t rows = present(header.row_count);
  const std::uint64_t tensors = present(header.tensors_bytes);
  const std::uint64_t labels = present(header.labels_bytes);
  // Bounded one by one first, so that their sum cannot overflow.
  for (const std::uint64_t part : {rows, tensors, labels}) {
    if (part > limits::shm_slot_bytes_max) return std::nullopt;
  }
  message_layout parts;
  parts.tensors_at = aligned(rows * sizeof(std::uint32_t));
  parts.labels_at = aligned(parts.tensors_at + tensors);
  parts.end = parts.labels_at + labels;
  return parts.end > limits::shm_slot_bytes_max ? std::nullopt : std::optional(parts);
}

message_header header_of(const activation& message, const payload_codec& codec) {
  message_header header;
  header.call = message.id.call;
  header.index = message.id.index;
  header.samples_begin = message.samples.begin;
  header.samples_end = message.samples.end;
  if (message.rows) header.row_count = message.rows->size();
  if (message.tensors) header.tensors_bytes = codec.size_of(*message.tensors);
  if (message.labels) header.labels_bytes = codec.size_of(*message.labels);
  return header;
}

void write_parts(const activation& message, const message_header& header, const message_layout& parts,
                 const payload_codec& codec, std::span<std::byte> room) {
  if (message.rows && !message.rows->empty()) {
    std::memcpy(room.data(), message.rows->data(), message.rows->size() * sizeof(std::uint32_t));
  }
  if (message.tensors) codec.write(*message.tensors, room.subspan(parts.tensors_at, header.tensors_bytes));
  if (message.labels) codec.write(*message.labels, room.subspan(parts.labels_at, header.labels_bytes));
}

std::uint64_t checksum_of(const message_header& header, std::span<const std::byte> room) noexcept {
  message_header others = header;
  others.checksum = absent;
  return crc32c(room, crc32c(std::as_bytes(std::span(&others, 1))));
}

expected<activation> read_head(const message_header& header, std::span<const std::byte> room) {
  if (header.samples_begin > header.samples_end) return nonsense("samples that end before they begin");
  activation message;
  message.id = {header.call, header.index};
  message.samples = {header.samples_begin, header.samples_end};
  if (header.row_count == absent) return message;
  message.rows = TROUPE_TRY(read_rows(header.row_count, message.samples.size(), room));
  return message;
}

}  // namespace troupe::shm
