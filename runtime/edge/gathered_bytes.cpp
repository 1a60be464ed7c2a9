#include "runtime/edge/gathered_bytes.hpp"

#include <array>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe {
namespace {

constexpr std::array<std::byte, limits::payload_alignment> zeros{};

}  // namespace

void gathered_bytes::clear() noexcept {
  pieces_.clear();
  own_used_ = 0;
  size_ = 0;
}

void gathered_bytes::view(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  pieces_.push_back(bytes);
  size_ += bytes.size();
}

std::span<std::byte> gathered_bytes::own(std::size_t bytes) {
  if (own_used_ == own_.size()) own_.emplace_back();
  auto& place = own_[own_used_++];
  if (place.size() < bytes) place.resize(bytes);
  const auto made = std::span(place).first(bytes);
  view(made);
  return made;
}

void gathered_bytes::pad_to(std::size_t alignment) {
  TROUPE_CHECK(alignment > 0 && alignment <= zeros.size(), "gaps are smaller than the alignment of payloads");
  view(std::span(zeros).first((alignment - size_ % alignment) % alignment));
}

}  // namespace troupe
