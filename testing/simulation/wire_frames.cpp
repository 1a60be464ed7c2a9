#include "testing/simulation/wire_frames.hpp"

#include <utility>

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

expected<read_frame> read(std::span<const std::byte> bytes) {
  const auto prelude = decode_prelude(bytes.first(frame_prelude_bytes));
  if (!prelude) return tl::make_unexpected(prelude.error());
  const std::size_t head_bytes = frame_prelude_bytes + prelude->header_bytes;
  if (head_bytes > bytes.size()) return fail(error_code::wire_malformed, "frame", "it is longer than what came");
  auto head = decode_head(bytes.first(head_bytes), *prelude);
  if (!head) return tl::make_unexpected(head.error());
  const auto payload = bytes.subspan(head_bytes);
  if (payload.size() != payload_bytes_of(*head))
    return fail(error_code::wire_malformed, "frame", "its length is wrong");
  const auto* sent = std::get_if<activation_frame>(&*head);
  if (sent == nullptr || !sent->has_checksum) return read_frame{*head, payload};
  const std::size_t at = layout_of(*sent).checksum_at;
  if (crc32c(payload.first(at)) != read_checksum(payload.subspan(at).first<payload_checksum_bytes>())) {
    return fail(error_code::wire_checksum, "frame", "its payload is damaged");
  }
  return read_frame{*head, payload};
}

expected<activation> rebuilt(const activation_frame& head, std::span<const std::byte> payload) {
  activation message{head.id, head.samples, nullptr, nullptr, nullptr};
  const payload_layout layout = layout_of(head);
  if (head.tensor_bytes) {
    auto tensors = hash_codec{}.read(payload.first(*head.tensor_bytes), nullptr);
    if (!tensors) return tl::make_unexpected(tensors.error());
    message.tensors = std::move(*tensors);
  }
  if (head.rows) message.rows = read_rows(payload.subspan(layout.rows_at, layout.checksum_at - layout.rows_at));
  return message;
}

}  // namespace troupe::simulation
