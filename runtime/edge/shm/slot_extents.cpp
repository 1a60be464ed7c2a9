#include "runtime/edge/shm/slot_extents.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe::shm {
namespace {

static_assert(std::has_single_bit(limits::shm_slot_bytes_max) && std::has_single_bit(limits::shm_extent_bytes_min) &&
                  limits::shm_extent_bytes_min <= limits::shm_slot_bytes_max,
              "an extent rounded up to a power of two stays within the limit");

[[noreturn]] void no_room(std::uint64_t bytes, const std::string& why) {
  throw std::runtime_error("a message of " + std::to_string(bytes) +
                           " bytes finds no room in its shared-memory slot (" +
                           std::to_string(limits::shm_slot_bytes_max) + " bytes at most): " + why);
}

std::uint64_t whole_pages(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

slot_extents::slot_extents(shared_memory memory, std::uint32_t slots, std::uint64_t file_bytes)
    : memory_(std::move(memory)), file_bytes_(file_bytes), reserved_(slots) {}

std::span<std::byte> slot_extents::reserve(std::uint32_t slot, std::uint64_t bytes) {
  reservation& wanted = reserved_[slot];
  if (bytes > limits::shm_slot_bytes_max) no_room(bytes, "the message is too large");
  if (bytes > wanted.place.bytes) renew(wanted, bytes);
  if (bytes > wanted.committed) commit(wanted, bytes);
  return wanted.pages.bytes().first(static_cast<std::size_t>(bytes));
}

// The file's end moves on even if the rest fails: it cannot be moved back, and addresses in a file cost nothing.
void slot_extents::renew(reservation& old, std::uint64_t bytes) {
  reservation made;
  made.place = {file_bytes_, std::bit_ceil(std::max(bytes, limits::shm_extent_bytes_min))};
  const std::uint64_t end = made.place.offset + made.place.bytes;
  if (auto grown = memory_.grow(end); !grown) no_room(bytes, grown.error().cause);
  file_bytes_ = end;
  auto pages = memory_.map(made.place.offset, made.place.bytes);
  if (!pages) no_room(bytes, pages.error().cause);
  made.pages = std::move(*pages);
  if (old.committed > 0) memory_.discard(old.place.offset, old.place.bytes);
  old = std::move(made);
}

// Only written pages take memory, and they do so here, where the caller can be told of a failure.
void slot_extents::commit(reservation& grown, std::uint64_t bytes) {
  const std::uint64_t upto = whole_pages(bytes);
  auto taken = memory_.commit(grown.place.offset + grown.committed, upto - grown.committed);
  if (!taken) no_room(bytes, taken.error().cause);
  grown.committed = upto;
}

slot_views::slot_views(shared_memory memory, std::uint32_t slots, std::uint64_t extents_at)
    : memory_(std::move(memory)), extents_at_(extents_at), views_(slots) {}

expected<std::shared_ptr<const memory_mapping>> slot_views::pages(std::uint32_t slot, const extent& place) {
  view& known = views_[slot];
  if (known.pages != nullptr && known.place == place) return known.pages;
  const bool plausible = place.offset >= extents_at_ && place.offset % limits::shm_extent_bytes_min == 0 &&
                         std::has_single_bit(place.bytes) && place.bytes >= limits::shm_extent_bytes_min &&
                         place.bytes <= limits::shm_slot_bytes_max;
  if (!plausible) {
    return fail(error_code::wire_malformed, "shared-memory edge",
                "a slot of " + std::to_string(place.bytes) + " bytes at " + std::to_string(place.offset));
  }
  auto mapped = TROUPE_TRY(memory_.map(place.offset, place.bytes));
  known = {place, std::make_shared<const memory_mapping>(std::move(mapped))};
  return known.pages;
}

}  // namespace troupe::shm
