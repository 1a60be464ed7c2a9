// Goal: peers that wait are served in turn by address, and a crowd at one address costs none but itself its place.
// Method: sockets that are not connected, told apart by their descriptors.
#include "runtime/edge/tcp/waiting_peers.hpp"

#include <map>
#include <vector>

#include <asio/io_context.hpp>
#include <gmock/gmock.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

using asio::ip::tcp;
using ::testing::ElementsAre;

const asio::ip::address crowd = asio::ip::make_address("192.0.2.1");
const asio::ip::address lone = asio::ip::make_address("192.0.2.2");

class waiting : public ::testing::Test {
 protected:
  /// Its descriptor.
  int add(const asio::ip::address& from) {
    tcp::socket made(io_, tcp::v4());
    const int fd = made.native_handle();
    peers_.add(std::move(made), from);
    return fd;
  }
  /// The descriptors of those that are served where each address has so much room.
  std::vector<int> served(std::map<asio::ip::address, int> room) {
    std::vector<int> all;
    peers_.serve([&](const auto& from) { return room[from] > 0; },
                 [&](tcp::socket peer, const auto& from) {
                   --room[from];
                   all.push_back(peer.native_handle());
                 });
    return all;
  }

  asio::io_context io_;
  waiting_peers peers_;
};

TEST_F(waiting, peers_are_served_one_of_each_address_in_turn_and_the_newest_first) {
  const int first = add(crowd);
  const int second = add(crowd);
  const int third = add(crowd);
  const int other = add(lone);
  EXPECT_THAT(served({{crowd, 2}, {lone, 5}}), ElementsAre(third, other, second));
  EXPECT_EQ(peers_.size(), 1U);
  EXPECT_THAT(served({}), ElementsAre());
  EXPECT_THAT(served({{crowd, 5}}), ElementsAre(first));
  EXPECT_TRUE(peers_.is_empty());
}

TEST_F(waiting, an_address_without_room_is_asked_about_once) {
  for (int i = 0; i < 10; ++i) add(crowd);
  int asked = 0;
  peers_.serve(
      [&](const auto&) {
        ++asked;
        return false;
      },
      [](const tcp::socket&, const auto&) { ADD_FAILURE() << "there is no room"; });
  EXPECT_EQ(asked, 1);
}

TEST_F(waiting, a_crowd_loses_its_oldest_and_another_address_nothing) {
  const int other = add(lone);
  for (std::size_t i = 0; i < 3 * limits::tcp_waiting_peers_max; ++i) add(crowd);
  EXPECT_EQ(peers_.size(), limits::tcp_waiting_peers_max);
  EXPECT_THAT(served({{lone, 1}}), ElementsAre(other));
  EXPECT_EQ(served({{crowd, 1'000'000}}).size(), limits::tcp_waiting_peers_max - 1);
}

}  // namespace
}  // namespace troupe::testing
