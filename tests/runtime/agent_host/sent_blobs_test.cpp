// Goal: the content of a blob leaves once, its holes never, and a blob without a user is named once. Method: the parts
// are put together in memory and compared with what was written into the blob.
#include "runtime/agent_host/sent_blobs.hpp"

#include <condition_variable>
#include <future>
#include <set>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "tests/runtime/agent_host/test_blobs.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

/// An agent that keeps what it is sent.
struct taken_parts {
  sent_blobs::send_part send() {
    return [this](blob_part part) -> expected<void> {
      bytes += part.content.size();
      EXPECT_LE(part.content.size(), limits::blob_part_bytes);
      parts.push_back(std::move(part));
      return {};
    };
  }
  [[nodiscard]] std::string whole(std::uint64_t number) const {
    std::string made;
    for (const blob_part& each : parts) {
      if (each.blob != number) continue;
      made.resize(each.size, '\0');
      std::memcpy(made.data() + each.offset, each.content.data(), each.content.size());
    }
    return made;
  }
  std::vector<blob_part> parts;
  std::size_t bytes = 0;
};

sent_blobs::send_part refuse(error_code code) {
  return [code](const blob_part&) -> expected<void> { return fail(code, "test", "refused"); };
}
sent_blobs::send_part expect_nothing() {
  return [](const blob_part& part) -> expected<void> {
    ADD_FAILURE() << "blob " << part.blob << " was sent";
    return {};
  };
}

TEST(sent_blobs, content_leaves_once_for_all_references) {
  sent_blobs blobs;
  taken_parts agent;
  const blob one = empty_blob(100);
  write_at(one, 10, "hello");
  const blob_reference first = *blobs.reference_to(one, agent.send());
  std::string expected_content(100, '\0');
  expected_content.replace(10, 5, "hello");
  EXPECT_EQ(agent.whole(first.blob), expected_content);
  const blob copy = one;
  const blob_reference second = *blobs.reference_to(copy, expect_nothing());
  EXPECT_EQ(second.blob, first.blob);
  EXPECT_FALSE(first.page_of);
}

TEST(sent_blobs, different_blobs_have_different_numbers) {
  sent_blobs blobs;
  taken_parts agent;
  const std::vector<blob> some = {empty_blob(1), empty_blob(1), empty_blob(1)};
  std::set<std::uint64_t> numbers;
  for (const blob& each : some) numbers.insert(blobs.reference_to(each, agent.send())->blob);
  EXPECT_EQ(numbers.size(), some.size());
}

TEST(sent_blobs, holes_are_not_sent) {
  sent_blobs blobs;
  taken_parts agent;
  constexpr std::uint64_t size = 32 * mebibyte + 3;
  const blob one = empty_blob(size);
  write_at(one, 5 * mebibyte + 7, "early");
  write_at(one, size - 4, "late");
  const blob_reference sent = *blobs.reference_to(one, agent.send());
  EXPECT_LE(agent.bytes, 8 * mebibyte) << "pages around the two words";
  const std::string there = agent.whole(sent.blob);
  ASSERT_EQ(there.size(), size);
  EXPECT_EQ(there.substr(5 * mebibyte + 7, 5), "early");
  EXPECT_EQ(there.substr(size - 4), "late");
  EXPECT_EQ(std::ranges::count(there, '\0'), static_cast<std::ptrdiff_t>(size - 9));
}

TEST(sent_blobs, an_empty_blob_is_told_by_its_size) {
  sent_blobs blobs;
  taken_parts agent;
  ASSERT_TRUE(blobs.reference_to(empty_blob(mebibyte), agent.send()));
  ASSERT_EQ(agent.parts.size(), 1U);
  EXPECT_EQ(agent.parts.front().size, mebibyte);
  EXPECT_THAT(agent.parts.front().content, IsEmpty());
}

TEST(sent_blobs, memory_that_is_committed_and_full_arrives_whole) {
  sent_blobs blobs;
  taken_parts agent;
  constexpr std::uint64_t size = 3 * limits::blob_part_bytes + 17;
  std::string content(size, ' ');
  for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>((i * 2654435761u) >> 13u);
  const blob one =
      *blob::make("test", size, [&](std::span<std::byte> place) { std::memcpy(place.data(), content.data(), size); });
  EXPECT_TRUE(agent.whole(blobs.reference_to(one, agent.send())->blob) == content);
}

TEST(sent_blobs, unused_ones_are_named_once) {
  sent_blobs blobs;
  taken_parts agent;
  std::optional<blob> one = empty_blob(1);
  std::optional<blob> other = empty_blob(1);
  const auto number_of_one = blobs.reference_to(*one, agent.send())->blob;
  const auto number_of_other = blobs.reference_to(*other, agent.send())->blob;
  EXPECT_THAT(blobs.take_unused(), IsEmpty());
  one.reset();
  EXPECT_THAT(blobs.take_unused(), ElementsAre(number_of_one));
  EXPECT_THAT(blobs.take_unused(), IsEmpty());
  other.reset();
  EXPECT_THAT(blobs.take_unused(), ElementsAre(number_of_other));
  const blob third = empty_blob(1);
  EXPECT_THAT(blobs.reference_to(third, agent.send())->blob, Gt(number_of_other)) << "numbers are not used again";
}

TEST(sent_blobs, after_clear_all_are_sent_again_under_new_numbers) {
  sent_blobs blobs;
  taken_parts agent;
  const blob one = empty_blob(1);
  const auto before = blobs.reference_to(one, agent.send())->blob;
  blobs.clear();
  EXPECT_THAT(blobs.take_unused(), IsEmpty()) << "the agent has dropped it";
  EXPECT_NE(blobs.reference_to(one, agent.send())->blob, before);
  EXPECT_EQ(agent.parts.back().size, 1U);
}

TEST(sent_blobs, a_blob_that_left_in_part_is_dropped_there_and_sent_again) {
  sent_blobs blobs;
  taken_parts agent;
  const blob one = empty_blob(1);
  const auto refused = blobs.reference_to(one, refuse(error_code::node_lost));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::node_lost);
  const auto sent = blobs.reference_to(one, agent.send());
  ASSERT_TRUE(sent);
  EXPECT_THAT(blobs.take_unused(), ElementsAre(sent->blob - 1)) << "what the agent has of the first one";
}

TEST(sent_blobs, what_leaves_while_the_agent_drops_all_is_not_taken_for_known) {
  sent_blobs blobs;
  taken_parts agent;
  const blob one = empty_blob(1);
  const auto before = blobs.reference_to(one, [&](const blob_part&) -> expected<void> {
    blobs.clear();
    return {};
  });
  ASSERT_TRUE(before);
  EXPECT_NE(blobs.reference_to(one, agent.send())->blob, before->blob);
}

TEST(sent_blobs, pages_are_named_by_rank_and_never_sent) {
  sent_blobs blobs;
  const blob page = empty_blob(4096);
  blobs.know_page(page, 7);
  const auto reference = blobs.reference_to(page, expect_nothing());
  ASSERT_TRUE(reference);
  EXPECT_EQ(reference->page_of, 7U);
  blobs.clear();
  EXPECT_EQ(blobs.reference_to(page, expect_nothing())->page_of, 7U) << "pages are not the agent's to drop";
  EXPECT_THAT(blobs.take_unused(), IsEmpty());
  blobs.forget_page(page);
  taken_parts agent;
  EXPECT_FALSE(blobs.reference_to(page, agent.send())->page_of);
}

/// A send that waits until it is let go.
struct waiting_send {
  sent_blobs::send_part send() {
    return [this](const blob_part&) -> expected<void> {
      has_begun.set_value();
      let_go.get_future().wait();
      return {};
    };
  }
  std::promise<void> has_begun;
  std::promise<void> let_go;
};

TEST(sent_blobs, nothing_but_another_send_waits_for_one) {
  sent_blobs blobs;
  const blob page = empty_blob(4096);
  const blob one = empty_blob(1);
  blobs.know_page(page, 7);
  waiting_send slow;
  std::thread sends([&] { EXPECT_TRUE(blobs.reference_to(one, slow.send())); });
  ASSERT_EQ(slow.has_begun.get_future().wait_for(60s), std::future_status::ready);
  auto others = std::async(std::launch::async, [&] {
    blobs.forget_page(page);
    blobs.know_page(page, 8);
    EXPECT_THAT(blobs.take_unused(), IsEmpty());
    blobs.clear();
  });
  EXPECT_EQ(others.wait_for(60s), std::future_status::ready);
  slow.let_go.set_value();
  sends.join();
}

TEST(sent_blobs, two_threads_that_need_one_blob_send_it_once) {
  sent_blobs blobs;
  const blob one = empty_blob(1);
  waiting_send slow;
  std::optional<blob_reference> first;
  std::optional<blob_reference> second;
  std::thread sends([&] { first = *blobs.reference_to(one, slow.send()); });
  ASSERT_EQ(slow.has_begun.get_future().wait_for(60s), std::future_status::ready);
  std::thread waits([&] { second = *blobs.reference_to(one, expect_nothing()); });
  slow.let_go.set_value();
  sends.join();
  waits.join();
  EXPECT_EQ(first->blob, second->blob);
}

}  // namespace
}  // namespace troupe::testing
