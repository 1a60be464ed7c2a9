// Goal: a frame's chunks are its bytes, in order, with the right checksum at the end, however the socket takes them.
// Method: payloads of random pieces, sockets that take random parts; what was sent is read by frame_decoder, and the
// checksum is compared with that of all bytes at once.
#include "runtime/edge/tcp/outgoing_frame.hpp"

#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/edge/tcp/frame_decoder.hpp"
#include "runtime/os/crc32c.hpp"

namespace troupe::testing {
namespace {

using bytes = std::vector<std::byte>;

bytes random_bytes(std::size_t count, std::mt19937& random) {
  bytes made(count);
  for (std::byte& b : made) b = static_cast<std::byte>(random());
  return made;
}

/// Takes parts of each chunk, as a socket whose buffer is nearly full does.
bytes send_all(outgoing_frame& out, std::mt19937& random) {
  bytes sent;
  while (!out.is_done()) {
    bytes chunk;
    for (const auto piece : out.chunk()) chunk.insert(chunk.end(), piece.begin(), piece.end());
    EXPECT_GT(chunk.size(), 0u);
    EXPECT_LE(chunk.size(), limits::tcp_chunk_bytes);
    const std::size_t taken = random() % 3 == 0 ? chunk.size() : random() % (chunk.size() + 1);
    sent.insert(sent.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(taken));
    out.sent(taken);
  }
  EXPECT_TRUE(out.chunk().empty());
  return sent;
}

/// The payload of the one frame of `stream`.
bytes decode(const bytes& stream, const frame& expected_head) {
  frame_decoder decoder(limits::frame_payload_bytes_max);
  bytes payload;
  std::size_t at = 0;
  for (;;) {
    const auto step = decoder.step();
    if (!step) {
      ADD_FAILURE() << to_string(step.error());
      return {};
    }
    if (*step == decode_step::head) {
      EXPECT_EQ(decoder.head(), expected_head);
      payload.resize(decoder.payload_bytes());
      if (payload.empty()) return payload;
      decoder.payload_into(payload);
    } else if (*step == decode_step::payload) {
      EXPECT_EQ(at, stream.size());
      return payload;
    } else {
      const auto room = decoder.room();
      const std::size_t size = std::min(room.size(), stream.size() - at);
      if (size == 0) return {};
      std::memcpy(room.data(), stream.data() + at, size);
      decoder.arrived(size);
      at += size;
    }
  }
}

/// Small ones, and one of more than a chunk.
std::vector<bytes> random_pieces(std::size_t count, std::mt19937& random) {
  std::vector<bytes> made;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = i == 1 ? limits::tcp_chunk_bytes + random() % 5000 : 1 + random() % 3000;
    made.push_back(random_bytes(size, random));
  }
  return made;
}

/// One after another, with zeros up to the next block.
bytes joined(const std::vector<bytes>& pieces) {
  bytes all;
  for (const bytes& each : pieces) all.insert(all.end(), each.begin(), each.end());
  all.resize((all.size() + limits::payload_alignment - 1) / limits::payload_alignment * limits::payload_alignment);
  return all;
}

/// Some viewed, some copied.
void put(const std::vector<bytes>& pieces, gathered_bytes& body) {
  bool is_viewed = false;
  for (const bytes& each : pieces) {
    if (std::exchange(is_viewed, !is_viewed)) {
      body.view(each);
    } else {
      std::memcpy(body.own(each.size()).data(), each.data(), each.size());
    }
  }
  body.pad_to(limits::payload_alignment);
}

TEST(outgoing_frame, sends_the_bytes_of_all_pieces_and_their_checksum) {
  std::mt19937 random(11);
  outgoing_frame out;
  for (const bool has_checksum : {true, false}) {
    for (const std::size_t count : {0u, 1u, 2u, 9u, 150u}) {
      const auto pieces = random_pieces(count, random);
      const bytes payload = joined(pieces);
      const activation_frame head{{0, 1}, {0, 4}, 1, {}, payload.size(), {}, has_checksum};
      out.begin(head);
      put(pieces, out.body());
      bytes got = decode(send_all(out, random), head);
      ASSERT_EQ(got.size(), payload.size() + (has_checksum ? payload_checksum_bytes : 0));
      const std::span<const std::byte> tail = std::span(got).subspan(payload.size());
      if (has_checksum) {
        EXPECT_EQ(read_checksum(tail.first<payload_checksum_bytes>()), crc32c(payload));
      }
      got.resize(payload.size());
      EXPECT_EQ(got, payload) << count << " pieces";
    }
  }
}

TEST(outgoing_frame, sends_a_frame_without_payload_after_one_with) {
  std::mt19937 random(12);
  outgoing_frame out;
  const bytes text = random_bytes(300'000, random);
  for (const frame& each : {frame{control_frame{text.size()}}, frame{ping_frame{}}, frame{credit_frame{9}}}) {
    out.begin(each, std::holds_alternative<control_frame>(each) ? std::span<const std::byte>(text)
                                                                : std::span<const std::byte>());
    const bytes got = decode(send_all(out, random), each);
    EXPECT_EQ(got, std::holds_alternative<control_frame>(each) ? text : bytes());
  }
}

TEST(outgoing_frame, is_done_before_the_first_frame) {
  outgoing_frame out;
  EXPECT_TRUE(out.is_done());
  EXPECT_TRUE(out.chunk().empty());
}

TEST(outgoing_frame_death, has_as_many_bytes_as_its_head_says) {
  outgoing_frame out;
  const bytes text(9);
  out.begin(control_frame{10}, text);
  EXPECT_DEATH((void)out.chunk(), "the bytes that its head says");
}

}  // namespace
}  // namespace troupe::testing
