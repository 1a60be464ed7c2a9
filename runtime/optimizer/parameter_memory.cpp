#include "runtime/optimizer/parameter_memory.hpp"

#include <atomic>
#include <cerrno>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <sys/mman.h>

#include "messages/check.hpp"

namespace troupe {
namespace {

constexpr std::uint64_t magic_word = 0x31746867696577e5U;
constexpr const char* place = "memory of the weights";

tl::unexpected<error> refused_by_system(const char* what) {
  return fail(error_code::process_failed, place, std::string(what) + ": " + std::generic_category().message(errno),
              "free memory, or cut the model into more stages");
}

tl::unexpected<error> state_is_lost(std::string cause) {
  return fail(error_code::training_state_lost, place, std::move(cause), "resume from the last checkpoint");
}

bool begins_with_page(std::span<const std::byte> bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % parameter_layout::page == 0;
}

}  // namespace

/// Calls are kept as their number plus 1; 0 for none.
struct parameter_memory::header {
  struct record {
    std::atomic<std::uint64_t> decided;
    std::atomic<std::uint64_t> step;
  };

  std::atomic<std::uint64_t> magic;
  std::uint64_t layout;
  std::uint64_t bytes;
  /// How often a half became the current one: half flips % 2 is.
  std::atomic<std::uint64_t> flips;
  std::atomic<std::uint64_t> finished;
  std::array<record, 2> halves;
};

parameter_memory::parameter_memory(parameter_layout layout, std::span<std::byte> bytes, bool is_own, bool protects)
    : layout_(std::move(layout)),
      bytes_(bytes),
      is_own_(is_own),
      is_protected_(protects && !is_own && begins_with_page(bytes)) {
  static_assert(sizeof(header) <= parameter_layout::page);
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "another process may die within a store");
}

parameter_memory::parameter_memory(parameter_memory&& other) noexcept
    : layout_(std::move(other.layout_)),
      bytes_(std::exchange(other.bytes_, {})),
      is_own_(other.is_own_),
      is_protected_(other.is_protected_) {}

parameter_memory::~parameter_memory() {
  if (bytes_.empty()) return;
  if (is_own_) {
    ::munmap(bytes_.data(), bytes_.size());
  } else if (is_protected_) {
    ::mprotect(bytes_.data(), bytes_.size(), PROT_READ | PROT_WRITE);
  }
}

expected<parameter_memory> parameter_memory::fresh(parameter_layout layout, std::span<std::byte> given, bool protects) {
  const std::uint64_t needed = layout.bytes();
  const bool is_own = given.empty();
  if (is_own) {
    void* const made = ::mmap(nullptr, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return refused_by_system("mmap");
    given = {static_cast<std::byte*>(made), needed};
  } else if (given.size() < needed) {
    return fail(error_code::process_failed, place,
                std::to_string(given.size()) + " bytes, expected " + std::to_string(needed),
                "give as much memory as the layout needs");
  } else {
    // a state that is there may be adopted no more from here on
    ::new (given.data()) header{};
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::fill(given.begin() + parameter_layout::page, given.begin() + static_cast<std::ptrdiff_t>(needed),
              std::byte{0});
  }
  TROUPE_CHECK(reinterpret_cast<std::uintptr_t>(given.data()) % 64 == 0, "the caller gives aligned memory");
  auto* const head = ::new (given.data()) header{};
  head->layout = layout.hash();
  head->bytes = needed;
  return parameter_memory(std::move(layout), given.first(needed), is_own, protects);
}

bool parameter_memory::holds_state(std::span<const std::byte> given) noexcept {
  if (given.size() < parameter_layout::page) return false;
  return reinterpret_cast<const header*>(given.data())->magic.load(std::memory_order_acquire) == magic_word;
}

expected<parameter_memory> parameter_memory::adopt(parameter_layout layout, std::span<std::byte> given, bool protects) {
  const std::uint64_t needed = layout.bytes();
  if (given.size() < needed) {
    return state_is_lost(std::to_string(given.size()) + " bytes, expected " + std::to_string(needed));
  }
  TROUPE_CHECK(reinterpret_cast<std::uintptr_t>(given.data()) % 64 == 0, "the caller gives aligned memory");
  if (!holds_state(given)) return state_is_lost("it holds no weights");
  const auto* const head = reinterpret_cast<const header*>(given.data());
  if (head->layout != layout.hash() || head->bytes != needed) {
    return state_is_lost("it holds the weights of other layers, or for another optimizer");
  }
  parameter_memory made(std::move(layout), given.first(needed), false, protects);
  if (made.is_protected_) made.opened_ = {made.bytes_};
  made.protect();
  return made;
}

parameter_memory::header& parameter_memory::head() const noexcept {
  return *reinterpret_cast<header*>(bytes_.data());
}

std::size_t parameter_memory::current() const noexcept {
  return head().flips.load(std::memory_order_acquire) % 2;
}

parameter_memory::version_state parameter_memory::state() const noexcept {
  return {.step = head().halves[current()].step.load(std::memory_order_relaxed)};
}

std::optional<call_number> parameter_memory::finished() const noexcept {
  const std::uint64_t kept = head().finished.load(std::memory_order_acquire);
  return kept == 0 ? std::nullopt : std::optional(kept - 1);
}

std::optional<call_number> parameter_memory::decided() const noexcept {
  const std::uint64_t kept = head().halves[current()].decided.load(std::memory_order_acquire);
  return kept == 0 ? std::nullopt : std::optional(kept - 1);
}

std::array<std::span<std::byte>, 3> parameter_memory::pages_of(area of) const noexcept {
  const std::uint64_t half = layout_.half_begin(1 - current());
  const std::uint64_t end = half + layout_.half_bytes();
  const std::span<std::byte> head_page = bytes_.first(parameter_layout::page);
  if (of == area::other_half) return {head_page, bytes_.subspan(half, end - half), {}};
  const std::uint64_t buffers = (half + layout_.buffers_begin()) / parameter_layout::page * parameter_layout::page;
  return {head_page, bytes_.subspan(buffers, end - buffers), bytes_.subspan(layout_.gradient_begin())};
}

expected<void> parameter_memory::unprotect(area opened) {
  if (!is_protected_) return {};
  opened_ = pages_of(opened);
  for (const std::span<std::byte> each : opened_) {
    if (!each.empty() && ::mprotect(each.data(), each.size(), PROT_READ | PROT_WRITE) != 0) {
      return refused_by_system("mprotect");
    }
  }
  return {};
}

void parameter_memory::protect() noexcept {
  for (const std::span<std::byte> each : opened_) {
    if (!each.empty()) ::mprotect(each.data(), each.size(), PROT_READ);
  }
  opened_ = {};
}

void parameter_memory::set_finished(std::optional<call_number> call) noexcept {
  head().finished.store(call ? *call + 1 : 0, std::memory_order_release);
  // what follows the end of a gradient must not come before it
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void parameter_memory::decide(call_number call) noexcept {
  head().halves[current()].decided.store(call + 1, std::memory_order_release);
}

void parameter_memory::flip(std::optional<call_number> decided, version_state state) noexcept {
  const std::uint64_t flips = head().flips.load(std::memory_order_relaxed);
  header::record& other = head().halves[1 - flips % 2];
  other.decided.store(decided ? *decided + 1 : 0, std::memory_order_relaxed);
  other.step.store(state.step, std::memory_order_relaxed);
  head().flips.store(flips + 1, std::memory_order_release);
}

void parameter_memory::publish() noexcept {
  head().magic.store(magic_word, std::memory_order_release);
  if (is_protected_) opened_ = {bytes_};
  protect();
}

}  // namespace troupe
