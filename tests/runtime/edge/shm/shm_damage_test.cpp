// Goal: whatever a damaged peer writes, an end reports it once and is silent, or goes on; it never crashes. Method:
// each field of the control words and of a header spoilt on purpose, then all of them at random, through a mapping of
// one's own as a peer has it.
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/edge/shm/shm_layout.hpp"
#include "shm_test_support.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

constexpr std::uint32_t slots = 4;

std::atomic<std::uint64_t>& word(const memory_mapping& pages, std::uint64_t at) {
  return reinterpret_cast<std::atomic<std::uint64_t>&>(pages.bytes()[at]);
}

/// Nothing comes from a consumer that has found nonsense, and it says so once.
void expect_silent(shm_edge& edge) {
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(edge.consumer->try_receive());
  EXPECT_FALSE(edge.consumer->exhausted());
  EXPECT_EQ(edge.consumer->flushed_through(), std::nullopt);
  EXPECT_EQ(edge.consumer_damages, 1u);
  EXPECT_EQ(edge.last_damage.code, error_code::wire_malformed);
}

struct spoilt {
  const char* name;
  std::uint64_t at;  // within the memory
  std::uint64_t value;
};

std::uint64_t field(std::size_t within) {
  return shm::headers_at() + sizeof(shm::message_header) + within;  // of the second message
}

TEST(shm_damage, every_field_of_a_header_is_checked) {
  using shm::message_header;
  constexpr std::uint64_t huge = ~std::uint64_t{0} - 1;
  const spoilt cases[] = {
      {"position", field(offsetof(message_header, position)), 0},
      {"slot in use", field(offsetof(message_header, slot)), 0},
      {"no slot", field(offsetof(message_header, slot)), slots},
      {"a slot but for one high bit", field(offsetof(message_header, slot)), std::uint64_t{1} << 32 | 1},
      {"samples", field(offsetof(message_header, samples_end)), 0},
      {"extent among the control words", field(offsetof(message_header, extent_offset)), 0},
      {"extent off the grid", field(offsetof(message_header, extent_offset)), (64u << 10) + 64},
      {"extent beyond the file", field(offsetof(message_header, extent_offset)), std::uint64_t{1} << 40},
      {"extent at the end of all", field(offsetof(message_header, extent_offset)), ~std::uint64_t{0xFFFF}},
      {"no extent", field(offsetof(message_header, extent_bytes)), 0},
      {"odd extent", field(offsetof(message_header, extent_bytes)), (64u << 10) + 1},
      {"extent larger than the file", field(offsetof(message_header, extent_bytes)), std::uint64_t{1} << 33},
      {"extent beyond the limit", field(offsetof(message_header, extent_bytes)), std::uint64_t{1} << 40},
      {"more rows than samples", field(offsetof(message_header, row_count)), 11},
      {"rows out of order", field(offsetof(message_header, row_count)), 10},
      {"too many rows", field(offsetof(message_header, row_count)), huge},
      {"large tensors", field(offsetof(message_header, tensors_bytes)), 65 << 10},
      {"huge tensors", field(offsetof(message_header, tensors_bytes)), huge},
      {"huge labels", field(offsetof(message_header, labels_bytes)), std::uint64_t{1} << 63},
      {"sent too many", offsetof(shm::control, sent), 1000},
      {"sent fewer than before", offsetof(shm::control, sent), 0},
  };
  for (const spoilt& each : cases) {
    SCOPED_TRACE(each.name);
    shm_edge edge({.slots = slots, .credits_per_ring = 1});
    ASSERT_EQ(edge.send(0, 500, 100), send_status::sent);
    const auto first = edge.consumer->try_receive();
    ASSERT_TRUE(first);
    ASSERT_EQ(edge.send(1, 500, 100), send_status::sent);
    word(edge.whole(), each.at).store(each.value);
    expect_silent(edge);
    EXPECT_TRUE(is_pattern(first->tensors, 0, 500)) << "what was received before stays";
    edge.consumer->release();
  }
}

/// Of a message whose parts are so long.
struct flip {
  const char* name;
  std::uint64_t rows;
  std::uint64_t bit;
  /// Within the header; nothing: in the slot, `bit` bits behind its start.
  std::optional<std::uint64_t> word = std::nullopt;
};

/// Rows, tensors and labels begin at 0, 64 and 576: each region, and the gaps between them.
const std::vector<flip>& flips() {
  using shm::message_header;
  static const std::vector<flip> all = {{"call", 3, 0, offsetof(message_header, call)},
                                        {"index", 3, 5, offsetof(message_header, index)},
                                        {"samples", 3, 9, offsetof(message_header, samples_end)},
                                        {"flush", 3, 1, offsetof(message_header, flushed_before)},
                                        {"checksum", 3, 31, offsetof(message_header, checksum)},
                                        {"rows", 3, 2},
                                        {"behind the rows", 3, 12 * 8 + 1},
                                        {"first of the tensors", 3, 64 * 8},
                                        {"last of the tensors", 3, (64 + 500) * 8 - 1},
                                        {"behind the tensors", 3, (64 + 500) * 8},
                                        {"first of the labels", 3, 576 * 8 + 7},
                                        {"last of the labels", 3, (576 + 100) * 8 - 1},
                                        {"tensors without rows", 0, 17 * 8 + 3}};
  return all;
}

/// The second message of an edge, flipped as said.
void send_flipped(shm_edge& edge, const flip& which) {
  activation message{{0, 1},
                     {10, 20},
                     std::make_shared<const pattern>(1, 500),
                     std::make_shared<const pattern>(2, 100),
                     which.rows == 0 ? nullptr : std::make_shared<const row_set>(row_set{1, 4, 8})};
  ASSERT_EQ(edge.producer->try_send(message), send_status::sent);
  const memory_mapping pages = edge.whole();
  const std::uint64_t slot = word(pages, field(offsetof(shm::message_header, extent_offset)));
  const std::uint64_t at = which.word ? field(*which.word) : slot;
  pages.bytes()[at + which.bit / 8] ^= std::byte{1} << (which.bit % 8);
}

TEST(shm_damage, every_flipped_bit_is_found_where_messages_have_checksums) {
  for (const flip& each : flips()) {
    SCOPED_TRACE(each.name);
    shm_edge edge({.slots = slots, .credits_per_ring = 1}, true);
    ASSERT_EQ(edge.send(0, 500, 100), send_status::sent);
    const auto first = edge.consumer->try_receive();
    ASSERT_TRUE(first);
    send_flipped(edge, each);
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(edge.consumer->try_receive());
    EXPECT_FALSE(edge.consumer->exhausted());
    EXPECT_EQ(edge.losses, 1u);
    EXPECT_EQ(edge.consumer_damages, 0u) << "no peer is to blame";
    EXPECT_EQ(edge.last_damage.code, error_code::wire_checksum);
    EXPECT_TRUE(is_pattern(first->tensors, 0, 500));
  }
}

TEST(shm_damage, a_producer_tells_of_credits_that_cannot_be) {
  const auto check = [](const char* name, std::uint64_t released, auto spoil) {
    SCOPED_TRACE(name);
    shm_edge edge({.slots = slots, .credits_per_ring = 1});
    for (std::uint64_t i = 0; i < slots; ++i) ASSERT_EQ(edge.send(i, 10, 10), send_status::sent);
    const memory_mapping pages = edge.whole();
    spoil(pages);
    word(pages, offsetof(shm::control, released)).store(released);
    EXPECT_LE(edge.producer->credits(), slots);
    EXPECT_EQ(edge.send(9, 10, 10), send_status::closed);
    EXPECT_EQ(edge.send(9, 10, 10), send_status::closed);
    EXPECT_EQ(edge.producer->credits(), slots);
    EXPECT_EQ(edge.producer_damages, 1u);
    EXPECT_EQ(edge.last_damage.code, error_code::wire_malformed);
  };
  const auto nothing = [](const memory_mapping&) {};
  check("more than were sent", slots + 1, nothing);
  check("far too many", ~std::uint64_t{0}, nothing);
  check("counted, but no slot", 1, nothing);
  check("counted, but a wrong slot", 1,
        [](const memory_mapping& pages) { word(pages, shm::freed_at(slots)).store(77); });
}

TEST(shm_damage, only_an_edge_is_opened) {
  const auto code = [](const spoilt& each) {
    const shm_edge edge({.slots = slots, .credits_per_ring = 1});
    word(edge.whole(), each.at).store(each.value);
    const auto opened = open_shm_consumer(edge.twin(), {nullptr, edge.codec, {}});
    const auto other = open_shm_producer(edge.twin(), {nullptr, edge.codec, {}});
    EXPECT_FALSE(opened || other) << each.name;
    return opened ? error_code::internal : opened.error().code;
  };
  const std::uint64_t version_word = offsetof(shm::identity, version);  // version | slots << 32
  EXPECT_EQ(code({"magic", 0, 1}), error_code::wire_malformed);
  EXPECT_EQ(code({"version", version_word, 99 | std::uint64_t{slots} << 32}), error_code::wire_wrong_version);
  EXPECT_EQ(code({"no slots", version_word, shm::version}), error_code::wire_malformed);
  EXPECT_EQ(code({"many slots", version_word, shm::version | std::uint64_t{257} << 32}), error_code::wire_malformed);
  EXPECT_EQ(code({"never rung", offsetof(shm::identity, credits_per_ring), 0}), error_code::wire_malformed);
  auto empty = shared_memory::create("troupe-test", 64u << 10);
  EXPECT_FALSE(open_shm_consumer(std::move(*empty).release(), {nullptr, std::make_shared<pattern_codec>(), {}}));
  auto small = shared_memory::create("troupe-test", 100);
  EXPECT_FALSE(open_shm_consumer(std::move(*small).release(), {nullptr, std::make_shared<pattern_codec>(), {}}));
}

/// A peer out of its mind: writes where it likes, mostly where it hurts.
void spoil(const memory_mapping& pages, std::mt19937_64& random) {
  const std::uint64_t reach = random() % 8 == 0 ? pages.bytes().size() : shm::control_bytes(slots);
  std::atomic<std::uint64_t>& target = word(pages, random() % (reach / 8) * 8);
  const std::uint64_t now = target.load();
  const std::uint64_t values[] = {0,
                                  ~std::uint64_t{0},
                                  random(),
                                  random() % 10,
                                  now + 1,
                                  now - 1,
                                  std::uint64_t{1} << random() % 64,
                                  now ^ std::uint64_t{1} << random() % 64};
  target.store(values[random() % std::size(values)]);
}

/// Reads all that a message shows.
std::uint64_t sum_of(const activation& message) {
  std::uint64_t sum = message.row_count();
  for (const payload_ptr& part : {message.tensors, message.labels}) {
    if (const auto* seen = dynamic_cast<const view*>(part.get())) {
      for (const std::byte each : seen->bytes) sum += static_cast<std::uint64_t>(each);
    }
  }
  return sum;
}

void operate(shm_edge& edge, std::vector<activation>& held, std::mt19937_64& random, std::uint64_t& index) {
  switch (random() % 4) {
    case 0:
    case 1:
      if (edge.send(index, random() % 3000, random() % 100) == send_status::sent) ++index;
      return;
    case 2:
      edge.producer->send_flush(random() % 3);
      (void)edge.consumer->flushed_through();
      (void)edge.consumer->exhausted();
      (void)edge.producer->credits();
      break;
    default:
      break;
  }
  if (auto got = edge.consumer->try_receive()) {
    EXPECT_EQ(edge.consumer_damages, 0u) << "received after nonsense";
    (void)sum_of(*got);
    held.push_back(std::move(*got));
  }
  if (held.empty() || random() % 3 == 0) return;
  held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));
  edge.consumer->release();
}

TEST(shm_damage, random_writes_never_crash_an_end) {
  constexpr std::uint64_t seeds = sanitized ? 600 : 3000;
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    shm_edge edge({.slots = slots, .credits_per_ring = static_cast<std::uint32_t>(1 + random() % 4)});
    std::vector<activation> held;
    std::uint64_t index = 0;
    const std::uint64_t calm = random() % 30;
    for (std::uint64_t step = 0; step < 60; ++step) {
      operate(edge, held, random, index);
      if (step >= calm && random() % 4 == 0) spoil(edge.whole(), random);
    }
    EXPECT_LE(edge.consumer_damages, 1u);
    EXPECT_LE(edge.producer_damages, 1u);
    found += edge.consumer_damages + edge.producer_damages;
  }
  EXPECT_GT(found, seeds / 3) << "most of it is noticed";
}

}  // namespace
}  // namespace troupe::testing
