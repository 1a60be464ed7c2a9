#include "runtime/edge/tcp/frame.hpp"

#include <string>
#include <type_traits>

#include "messages/codec/head.hpp"
#include "runtime/edge/tcp/frame_fields.hpp"
#include "runtime/edge/tcp/frame_numbers.hpp"
#include "runtime/os/crc32c.hpp"

namespace troupe {
namespace {

using codec::fail_at;

static_assert(frame_prelude_bytes + limits::frame_header_bytes_max <= limits::frame_buffer_bytes);

constexpr std::uint32_t magic = 0x54525045;  // "TRPE"
constexpr std::size_t version_at = 4;
constexpr std::size_t header_bytes_at = 6;
constexpr std::size_t payload_bytes_at = 8;
constexpr std::size_t crc_at = 16;

std::uint64_t get(std::span<const std::byte> input, std::size_t at, std::size_t bytes) noexcept {
  std::uint64_t value = 0;
  for (const std::byte b : input.subspan(at, bytes)) value = value << 8u | std::to_integer<std::uint64_t>(b);
  return value;
}

void set(std::span<std::byte> output, std::size_t at, std::size_t bytes, std::uint64_t value) noexcept {
  for (std::size_t i = bytes; i > 0; --i, value >>= 8u) output[at + i - 1] = static_cast<std::byte>(value & 0xffu);
}

std::uint64_t aligned(std::uint64_t bytes) noexcept {
  return (bytes + limits::payload_alignment - 1) / limits::payload_alignment * limits::payload_alignment;
}

std::string objection(const auto&) {
  return {};
}
std::string objection(const activation_frame& f) {
  if (f.samples.end < f.samples.begin) return "samples that end before they begin";
  if (f.samples.size() > limits::micro_batch_max) return "more samples than a micro-batch may have";
  if (f.rows && *f.rows > f.samples.size()) return "more rows than samples";
  return {};
}
std::string objection(const hello_frame& f) {
  return f.slots == 0 ? "an edge without slots" : "";
}

std::string objection(const link_frame& f) {
  return f.silence_ms == std::optional<std::uint32_t>(0) ? "a link that is lost at once" : "";
}

template <class Frame>
bool read_if(frame_kind kind, std::uint64_t items, field_reader& in, frame& value) {
  if (kind != frame_fields::kind<Frame>) return false;
  if (items != frame_fields::arity<Frame>() + 1) {
    in.refuse(error_code::wire_malformed, frame_prelude_bytes, "a header of " + std::to_string(items) + " fields");
    return true;
  }
  Frame& read = value.emplace<Frame>();
  frame_fields::fields(in, read);
  in.end();
  if (const std::string wrong = objection(read); !wrong.empty()) in.refuse(error_code::wire_malformed, wrong);
  return true;
}

template <class... Frames>
bool read_any(frame_kind kind, std::uint64_t items, field_reader& in, std::variant<Frames...>& value) {
  return (read_if<Frames>(kind, items, in, value) || ...);
}

}  // namespace

std::string to_string(const edge_key& key) {
  return "edge " + std::to_string(key.edge) + " (epoch " + std::to_string(key.epoch) + ", incarnation " +
         std::to_string(key.incarnation) + ")";
}

frame_kind kind_of(const frame& value) noexcept {
  return std::visit([](const auto& f) { return frame_fields::kind<std::remove_cvref_t<decltype(f)>>; }, value);
}

payload_layout layout_of(const activation_frame& head) noexcept {
  payload_layout layout;
  layout.labels_at = aligned(head.tensor_bytes.value_or(0));
  layout.rows_at = layout.labels_at + aligned(head.label_bytes.value_or(0));
  layout.checksum_at = layout.rows_at + head.rows.value_or(0) * sizeof(std::uint32_t);
  layout.bytes = layout.checksum_at + (head.has_checksum ? payload_checksum_bytes : 0);
  return layout;
}

void write_checksum(std::uint32_t crc, std::span<std::byte, payload_checksum_bytes> into) noexcept {
  set(into, 0, into.size(), crc);
}

std::uint32_t read_checksum(std::span<const std::byte, payload_checksum_bytes> from) noexcept {
  return static_cast<std::uint32_t>(get(from, 0, from.size()));
}

std::uint64_t payload_bytes_of(const frame& value) noexcept {
  if (const auto* sent = std::get_if<activation_frame>(&value)) return layout_of(*sent).bytes;
  if (const auto* asked = std::get_if<join_frame>(&value)) return asked->bytes;
  const auto* said = std::get_if<control_frame>(&value);
  return said == nullptr ? 0 : said->bytes;
}

std::uint32_t head_checksum(std::span<const std::byte> head) noexcept {
  return crc32c(head.subspan(frame_prelude_bytes), crc32c(head.first(crc_at)));
}

frame_head_bytes encode_head(const frame& value) noexcept {
  frame_head_bytes out;
  for (std::size_t i = 0; i < frame_prelude_bytes; ++i) out.put(0);
  std::visit(
      [&](const auto& f) {
        using type = std::remove_cvref_t<decltype(f)>;
        field_writer write(out);
        write.array(frame_fields::arity<type>() + 1);
        write.number(static_cast<std::uint8_t>(frame_fields::kind<type>));
        frame_fields::fields(write, f);
      },
      value);
  const auto head = out.view();
  set(head, 0, 4, magic);
  set(head, version_at, 2, limits::frame_version);
  set(head, header_bytes_at, 2, head.size() - frame_prelude_bytes);
  set(head, payload_bytes_at, 8, payload_bytes_of(value));
  set(head, crc_at, 4, head_checksum(head));
  return out;
}

expected<frame_prelude> decode_prelude(std::span<const std::byte> input, std::uint64_t payload_bytes_max) {
  if (get(input, 0, 4) != magic) return fail_at(error_code::wire_malformed, 0, "this is no frame of Troupe");
  if (const auto version = get(input, version_at, 2); version != limits::frame_version) {
    return fail_at(error_code::wire_wrong_version, version_at,
                   "frame version " + std::to_string(version) + ", expected " + std::to_string(limits::frame_version));
  }
  const frame_prelude found{get(input, header_bytes_at, 2), get(input, payload_bytes_at, 8),
                            static_cast<std::uint32_t>(get(input, crc_at, 4))};
  if (found.header_bytes > limits::frame_header_bytes_max) {
    return fail_at(error_code::wire_too_large, header_bytes_at,
                   "header of " + std::to_string(found.header_bytes) + " bytes, the limit is " +
                       std::to_string(limits::frame_header_bytes_max));
  }
  if (found.payload_bytes > payload_bytes_max) {
    return fail_at(error_code::wire_too_large, payload_bytes_at,
                   "payload of " + std::to_string(found.payload_bytes) + " bytes, the limit is " +
                       std::to_string(payload_bytes_max));
  }
  return found;
}

expected<frame> decode_head(std::span<const std::byte> input, const frame_prelude& prelude) {
  if (head_checksum(input) != prelude.crc) {
    return fail_at(error_code::wire_checksum, crc_at, "the header does not match its checksum");
  }
  field_reader in(input);
  const std::uint64_t items = in.array();
  std::uint8_t kind = 0;
  in(kind, 0xff);
  frame value = ping_frame{};
  if (!in.problem() && !read_any(static_cast<frame_kind>(kind), items, in, value)) {
    in.refuse(error_code::wire_unknown_kind, "no frame has the kind " + std::to_string(kind));
  }
  if (in.problem()) return tl::make_unexpected(*in.problem());
  if (payload_bytes_of(value) != prelude.payload_bytes) {
    return fail_at(error_code::wire_malformed, payload_bytes_at,
                   "payload of " + std::to_string(prelude.payload_bytes) + " bytes, the header needs " +
                       std::to_string(payload_bytes_of(value)));
  }
  return value;
}

}  // namespace troupe
