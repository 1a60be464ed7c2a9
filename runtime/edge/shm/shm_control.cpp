#include "runtime/edge/shm/shm_control.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "messages/try.hpp"

namespace troupe::shm {
namespace {

constexpr const char* edge_place = "shared-memory edge";
constexpr const char* same_version = "Check that both ends run the same version of Troupe";

expected<void> check(const identity& id) {
  if (id.magic != magic) return fail(error_code::wire_malformed, edge_place, "the memory holds no edge", same_version);
  if (id.version != version) {
    return fail(
        error_code::wire_wrong_version, edge_place,
        "the memory is laid out as in version " + std::to_string(id.version) + ", not " + std::to_string(version),
        same_version);
  }
  if (id.slots < 1 || id.slots > limits::pipe_buffers_max || id.credits_per_ring < 1) {
    return fail(error_code::wire_malformed, edge_place, "an edge of " + std::to_string(id.slots) + " slots",
                same_version);
  }
  return {};
}

}  // namespace

// The mapped bytes are the objects: the maker has begun their lives, and atomics without locks are plain words.
control_view::control_view(memory_mapping pages, std::uint32_t slots, std::uint32_t credits_per_ring) noexcept
    : pages_(std::move(pages)), slots_(slots), credits_per_ring_(std::min(slots, credits_per_ring)) {
  std::byte* const base = pages_.bytes().data();
  words_ = reinterpret_cast<control*>(base);
  headers_ = {reinterpret_cast<shared_header*>(base + headers_at()), slots};
  freed_ = {reinterpret_cast<std::atomic<std::uint64_t>*>(base + freed_at(slots)), slots};
}

expected<control_view> control_view::create(shared_memory& memory, std::uint32_t slots,
                                            std::uint32_t credits_per_ring) {
  // Taken now, so that no later write to it can fail.
  TROUPE_TRY(memory.commit(0, control_bytes(slots)));
  auto pages = TROUPE_TRY(memory.map(0, control_bytes(slots)));
  control_view made(std::move(pages), slots, credits_per_ring);
  std::construct_at(made.words_)->id = {magic, version, slots, credits_per_ring};
  std::uninitialized_value_construct(made.headers_.begin(), made.headers_.end());
  std::uninitialized_value_construct(made.freed_.begin(), made.freed_.end());
  return made;
}

expected<control_view> control_view::open(const shared_memory& memory) {
  identity id;
  {
    const auto first = TROUPE_TRY(memory.map(0, sizeof(control)));
    std::memcpy(&id, first.bytes().data(), sizeof(id));
  }
  TROUPE_TRY(check(id));
  auto pages = TROUPE_TRY(memory.map(0, control_bytes(id.slots)));
  return control_view(std::move(pages), id.slots, id.credits_per_ring);
}

}  // namespace troupe::shm
