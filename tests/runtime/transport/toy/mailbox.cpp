#include "mailbox.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe::testing {
namespace {

static_assert(sizeof(mailbox_words) <= 64);

std::uint64_t bytes_of(std::uint32_t slots) {
  return 64 + slots * sizeof(letter);
}

std::uint64_t put(const payload_ptr& from, std::span<std::byte> into, const payload_codec& codec) {
  if (from == nullptr) return letter::nothing;
  const std::size_t bytes = codec.size_of(*from);
  if (bytes > into.size()) throw std::runtime_error("it is too large for a toy");
  codec.write(*from, into.first(bytes));
  return bytes;
}

/// Memory of its own, so that the slot is free at once.
expected<payload_ptr> take(std::span<const std::byte> from, std::uint64_t bytes, const payload_codec& codec) {
  if (bytes == letter::nothing) return payload_ptr{};
  if (bytes > from.size()) return fail(error_code::wire_malformed, "toy edge", "more bytes than a letter has");
  struct alignas(limits::payload_alignment) block {
    std::array<std::byte, limits::payload_alignment> bytes;
  };
  const auto copy = std::make_shared<std::vector<block>>(bytes / sizeof(block) + 1);
  std::memcpy(copy->data(), from.data(), bytes);
  return codec.read({copy->front().bytes.data(), bytes}, copy);
}

}  // namespace

expected<unique_fd> mailbox::create(const edge_options& shape) {
  TROUPE_CHECK(shape.slots >= 1 && shape.slots <= limits::pipe_buffers_max, "an edge has 1 to pipe_buffers_max slots");
  TROUPE_CHECK(shape.credits_per_ring >= 1, "a producer must be rung at some number of free slots");
  auto memory = TROUPE_TRY(shared_memory::create("toy-edge", bytes_of(shape.slots)));
  auto pages = TROUPE_TRY(memory.map(0, sizeof(mailbox_words)));
  auto* const words = new (pages.bytes().data()) mailbox_words;
  words->slots = shape.slots;
  words->credits_per_ring = std::min(shape.credits_per_ring, shape.slots);
  return std::move(memory).release();
}

expected<mailbox> mailbox::open(unique_fd descriptor) {
  auto memory = TROUPE_TRY(shared_memory::adopt(std::move(descriptor), bytes_of(1)));
  auto size = TROUPE_TRY(memory.size());
  auto pages = TROUPE_TRY(memory.map(0, size));
  const std::uint32_t slots = reinterpret_cast<const mailbox_words*>(pages.bytes().data())->slots;
  if (slots == 0 || slots > limits::pipe_buffers_max || bytes_of(slots) > size)
    return fail(error_code::wire_malformed, "toy edge", "it is none");
  return mailbox(std::move(pages), slots);
}

void mailbox::write(letter& to, const activation& message, const payload_codec& codec) const {
  to.tensors = put(message.tensors, to.tensors_bytes, codec);
  to.labels = put(message.labels, to.labels_bytes, codec);
  to.rows = letter::nothing;
  if (message.rows) {
    if (message.rows->size() > to.row_numbers.size()) throw std::runtime_error("it has too many rows for a toy");
    to.rows = message.rows->size();
    std::ranges::copy(*message.rows, to.row_numbers.begin());
  }
  to.call = message.id.call;
  to.index = message.id.index;
  to.begin = message.samples.begin;
  to.end = message.samples.end;
}

expected<activation> mailbox::read(const letter& from, const payload_codec& codec) {
  auto tensors = TROUPE_TRY(take(from.tensors_bytes, from.tensors, codec));
  auto labels = TROUPE_TRY(take(from.labels_bytes, from.labels, codec));
  activation made{
      {static_cast<call_number>(from.call), from.index}, {from.begin, from.end}, std::move(tensors), std::move(labels)};
  if (from.rows == letter::nothing) return made;
  if (from.rows > from.row_numbers.size()) return fail(error_code::wire_malformed, "toy edge", "too many rows");
  made.rows = std::make_shared<const row_set>(from.row_numbers.begin(),
                                              from.row_numbers.begin() + static_cast<std::ptrdiff_t>(from.rows));
  return made;
}

}  // namespace troupe::testing
