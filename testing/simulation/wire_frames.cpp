#include "testing/simulation/wire_frames.hpp"

#include <algorithm>
#include <utility>

#include "messages/try.hpp"
#include "runtime/os/crc32c.hpp"
#include "testing/simulation/hash_chain.hpp"

namespace troupe::simulation {
namespace {

/// Little-endian.
void write_rows(const row_set& rows, std::span<std::byte> into) {
  for (std::size_t at = 0; at < into.size(); ++at) {
    into[at] = static_cast<std::byte>(rows[at / sizeof(std::uint32_t)] >> 8u * (at % sizeof(std::uint32_t)) & 0xffu);
  }
}

row_set_ptr read_rows(std::span<const std::byte> from) {
  row_set rows(from.size() / sizeof(std::uint32_t));
  for (std::size_t at = from.size(); at-- > 0;) {
    std::uint32_t& row = rows[at / sizeof(std::uint32_t)];
    row = row << 8u | std::to_integer<std::uint32_t>(from[at]);
  }
  return std::make_shared<const row_set>(std::move(rows));
}

}  // namespace

std::vector<std::byte> bytes_of(const frame& head) {
  const frame_head_bytes bytes = encode_head(head);
  const auto view = bytes.view();
  return {view.begin(), view.end()};
}

std::vector<std::byte> bytes_of(const activation& message, epoch_number epoch) {
  activation_frame head{message.id, message.samples, epoch, {}, {}, {}, true};
  if (message.rows) head.rows = message.rows->size();
  if (message.tensors) head.tensor_bytes = hash_codec{}.size_of(*message.tensors);
  std::vector<std::byte> made = bytes_of(frame{head});
  const std::size_t begin = made.size();
  const payload_layout layout = layout_of(head);
  made.resize(begin + layout.bytes);
  const auto payload = std::span(made).subspan(begin);
  if (message.tensors) hash_codec{}.write(*message.tensors, payload);
  if (message.rows) write_rows(*message.rows, payload.subspan(layout.rows_at, layout.checksum_at - layout.rows_at));
  write_checksum(crc32c(payload.first(layout.checksum_at)),
                 payload.subspan(layout.checksum_at).first<payload_checksum_bytes>());
  return made;
}

expected<read_frame> read(std::span<const std::byte> bytes, payload_check check) {
  frame_decoder decoder(limits::frame_payload_bytes_max, check);
  std::vector<std::byte> payload;
  for (;;) {
    const auto step = TROUPE_TRY(decoder.step());
    if (step == decode_step::more) {
      const auto room = decoder.room();
      const auto piece = bytes.first(std::min(bytes.size(), room.size()));
      if (piece.empty()) return fail(error_code::wire_malformed, "frame", "it is longer than what came");
      std::ranges::copy(piece, room.begin());
      decoder.arrived(piece.size());
      bytes = bytes.subspan(piece.size());
      continue;
    }
    if (step == decode_step::payload || decoder.payload_bytes() == 0) {
      return read_frame{decoder.head(), std::move(payload)};
    }
    payload.resize(decoder.payload_bytes());
    decoder.payload_into(payload);
  }
}

expected<activation> rebuilt(const activation_frame& head, std::span<const std::byte> payload) {
  activation message{head.id, head.samples, nullptr, nullptr, nullptr};
  const payload_layout layout = layout_of(head);
  if (head.tensor_bytes) {
    message.tensors = TROUPE_TRY(hash_codec{}.read(payload.first(*head.tensor_bytes), nullptr));
  }
  if (head.rows) message.rows = read_rows(payload.subspan(layout.rows_at, layout.checksum_at - layout.rows_at));
  return message;
}

}  // namespace troupe::simulation
