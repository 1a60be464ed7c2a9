#include "runtime/edge/tcp/frame_decoder.hpp"

#include <algorithm>
#include <cstring>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/os/crc32c.hpp"

namespace troupe {

std::span<std::byte> frame_decoder::room() noexcept {
  if (!missing_.empty()) return missing_;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
  return std::span(buffer_).subspan(end_);
}

void frame_decoder::arrived(std::size_t bytes) noexcept {
  if (missing_.empty()) {
    end_ += bytes;
  } else {
    sum_up(missing_.first(bytes));
    missing_ = missing_.subspan(bytes);
  }
}

void frame_decoder::sum_up(std::span<const std::byte> arrived) noexcept {
  const auto covered = arrived.first(std::min<std::size_t>(arrived.size(), to_sum_up_));
  crc_ = crc32c(covered, crc_);
  to_sum_up_ -= covered.size();
}

void frame_decoder::consume(std::size_t bytes) noexcept {
  begin_ += bytes;
  if (begin_ == end_) begin_ = end_ = 0;
}

void frame_decoder::payload_into(std::span<std::byte> place) noexcept {
  TROUPE_CHECK(in_payload_ && place.size() == payload_bytes_, "a payload has the size that its head says");
  const auto here = buffered().first(std::min<std::size_t>(place.size(), end_ - begin_));
  std::memcpy(place.data(), here.data(), here.size());
  sum_up(here);
  consume(here.size());
  place_ = place;
  missing_ = place.subspan(here.size());
}

expected<decode_step> frame_decoder::step() {
  if (!in_payload_) return read_head();
  if (!missing_.empty()) return decode_step::more;
  return end_payload();
}

expected<decode_step> frame_decoder::end_payload() {
  in_payload_ = false;
  const auto* sent = std::get_if<activation_frame>(&head_);
  const bool is_checked = sent != nullptr && sent->has_checksum && check_ == payload_check::of_checksums;
  if (is_checked && read_checksum(place_.last<payload_checksum_bytes>()) != crc_) {
    return fail(error_code::wire_checksum, to_string(sent->id), "the payload does not match its checksum");
  }
  return decode_step::payload;
}

expected<decode_step> frame_decoder::read_head() {
  if (buffered().size() < frame_prelude_bytes) return decode_step::more;
  const auto prelude = TROUPE_TRY(decode_prelude(buffered(), payload_bytes_max_));
  const std::size_t head_bytes = frame_prelude_bytes + prelude.header_bytes;
  if (buffered().size() < head_bytes) return decode_step::more;
  head_ = TROUPE_TRY(decode_head(buffered().first(head_bytes), prelude));
  consume(head_bytes);
  payload_bytes_ = prelude.payload_bytes;
  in_payload_ = payload_bytes_ > 0;
  const auto* sent = std::get_if<activation_frame>(&head_);
  to_sum_up_ = sent != nullptr && sent->has_checksum ? layout_of(*sent).checksum_at : 0;
  crc_ = 0;
  return decode_step::head;
}

}  // namespace troupe
