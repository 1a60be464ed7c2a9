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

TEST_F(waiting, addresses_are_served_in_the_order_in_which_they_came_and_a_crowd_of_them_loses_the_last) {
  // Neither the lowest address nor the highest is preferred.
  const auto at = [](std::size_t number) {
    return asio::ip::make_address_v4(static_cast<std::uint32_t>(0x0a5a0000 + number * 7919 % 65536));
  };
  const auto early = asio::ip::make_address("10.0.0.1");
  std::vector<int> came{add(early)};
  std::map<asio::ip::address, int> room{{early, 1}};
  for (std::size_t i = 0; i + 1 < limits::tcp_waiting_peers_max; ++i) {
    came.push_back(add(at(i)));
    room[at(i)] = 1;
  }
  for (std::size_t i = limits::tcp_waiting_peers_max; i < limits::tcp_waiting_peers_max + 300; ++i) {
    EXPECT_EQ(peers_.add(tcp::socket(io_, tcp::v4()), at(i)), at(i)) << "who came last is closed";
  }
  EXPECT_EQ(served(room), came);
}

}  // namespace
}  // namespace troupe::testing
