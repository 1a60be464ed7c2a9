// Goal: nothing of what a TLS stream has sent stays in memory that it gave back, such as the secret of a join. Method:
// both ends in one thread; whatever this program gives back is searched for the secret.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include <asio/io_context.hpp>
#include <gtest/gtest.h>
#include <malloc.h>

#include "runtime/edge/tcp/wire_stream.hpp"
#include "tcp_test_support.hpp"

namespace {

constexpr std::string_view secret = "the secret of a join, of one node";
std::atomic<int> found_in_freed_memory{0};

void look_and_free(void* memory) noexcept {
  if (memory == nullptr) return;
  const std::string_view content(static_cast<const char*>(memory), ::malloc_usable_size(memory));
  if (content.find(secret) != std::string_view::npos) ++found_in_freed_memory;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  look_and_free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  look_and_free(memory);
}

namespace troupe::testing {
namespace {

using asio::ip::tcp;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// Two ends that have shaken hands.
class tls_ends {
 public:
  tls_ends() {
    tcp::acceptor listener(io_, {asio::ip::address_v4::loopback(), 0});
    wire_socket near = new_tcp_socket(io_.get_executor(), listener.local_endpoint());
    near.connect(listener.local_endpoint());
    wire_socket far(listener.accept());
    near.non_blocking(true);
    far.non_blocking(true);
    sender = context_->stream(std::move(near));
    receiver = context_->stream(std::move(far));
    int shaken = 0;
    const auto done = [&shaken](std::error_code failed) {
      EXPECT_FALSE(failed) << failed.message();
      ++shaken;
    };
    sender->handshake(false, done);
    receiver->handshake(true, done);
    io_.run();
    EXPECT_EQ(shaken, 2);
  }

 private:
  asio::io_context io_;
  std::unique_ptr<tls_context> context_ = *tls_context::make(run_credentials());

 public:
  std::unique_ptr<wire_stream> sender;
  std::unique_ptr<wire_stream> receiver;
};

TEST(tls_stream, leaves_nothing_of_a_short_record_in_memory_that_it_gives_back) {
  run_credentials();
  found_in_freed_memory = 0;
  {
    tls_ends ends;
    // Pieces so small that what holds them grows with each.
    std::array<char, 100> padding{};
    padding.fill('x');
    const std::string_view more(padding.data(), padding.size());
    const std::array pieces{bytes_of(secret), bytes_of(more), bytes_of(more), bytes_of(more)};
    const transfer sent = ends.sender->write_some(pieces);
    ASSERT_EQ(sent.bytes, secret.size() + 3 * more.size());
    std::array<std::byte, 1000> got{};
    std::size_t size = 0;
    ASSERT_TRUE(eventually([&] {
      size += ends.receiver->read_some(std::span(got).subspan(size)).bytes;
      return size == sent.bytes;
    }));
    EXPECT_TRUE(std::ranges::equal(std::span(got).first(secret.size()), bytes_of(secret)));
  }
  EXPECT_EQ(found_in_freed_memory, 0);
}

TEST(memory_of_this_test, is_searched) {
  found_in_freed_memory = 0;
  delete new std::array<char, secret.size() + 1>([] {
    std::array<char, secret.size() + 1> copy{};
    std::ranges::copy(secret, copy.begin());
    return copy;
  }());
  EXPECT_EQ(found_in_freed_memory, 1);
}

}  // namespace
}  // namespace troupe::testing
