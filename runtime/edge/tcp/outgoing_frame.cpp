#include "runtime/edge/tcp/outgoing_frame.hpp"

#include <algorithm>

#include "messages/check.hpp"
#include "runtime/os/crc32c.hpp"

namespace troupe {

void outgoing_frame::begin(const frame& value, std::span<const std::byte> payload) {
  body_.clear();
  head_ = encode_head(value);
  const auto* sent = std::get_if<activation_frame>(&value);
  checksum_bytes_ = sent != nullptr && sent->has_checksum ? payload_checksum_bytes : 0;
  bytes_ = head_.view().size() + payload_bytes_of(value);
  sent_ = part_ = offset_ = 0;
  summed_ = head_.view().size();
  crc_ = 0;
  body_.view(payload);
}

/// The head, the pieces of the body, the checksum.
std::span<const std::byte> outgoing_frame::part(std::size_t index) const noexcept {
  if (index == 0) return head_.view();
  if (index <= body_.pieces().size()) return body_.pieces()[index - 1];
  return std::span(checksum_).first(checksum_bytes_);
}

outgoing_frame::pieces outgoing_frame::chunk() {
  TROUPE_CHECK(bytes_ == 0 || head_.view().size() + body_.size() + checksum_bytes_ == bytes_,
               "a frame has the bytes that its head says");
  if (is_done()) return {};
  std::size_t count = 0;
  std::size_t room = limits::tcp_chunk_bytes;
  std::uint64_t at = sent_;
  std::size_t offset = offset_;
  for (std::size_t i = part_; i < parts() && room > 0 && count < chunk_.size(); ++i) {
    if (i + 1 == parts()) end_checksum();
    const auto rest = part(i).subspan(std::exchange(offset, 0));
    const auto taken = rest.first(std::min(rest.size(), room));
    if (i > 0 && i + 1 < parts()) sum_up(taken, at);
    if (!taken.empty()) chunk_[count++] = taken;
    room -= taken.size();
    at += taken.size();
  }
  return std::span(chunk_).first(count);
}

/// What a chunk offers again, because the socket took a part alone, is in the sum already.
void outgoing_frame::sum_up(std::span<const std::byte> bytes, std::uint64_t at) noexcept {
  if (checksum_bytes_ == 0 || at + bytes.size() <= summed_) return;
  crc_ = crc32c(bytes.subspan(summed_ - at), crc_);
  summed_ = at + bytes.size();
}

void outgoing_frame::end_checksum() noexcept {
  if (checksum_bytes_ > 0) write_checksum(crc_, checksum_);
}

void outgoing_frame::sent(std::size_t bytes) noexcept {
  TROUPE_CHECK(bytes <= bytes_ - sent_, "a chunk is not longer than its frame");
  sent_ += bytes;
  for (offset_ += bytes; part_ < parts() && offset_ >= part(part_).size(); ++part_) offset_ -= part(part_).size();
}

}  // namespace troupe
