// Goal: edges between nodes are those of the nodes that the contacts name, and to no others, also over the driver's one
// listening socket. Method: the driver of a job and nodes with its certificates, each with a transport of its own; a
// node that has learned another's offer.
#include <gtest/gtest.h>

#include "runtime/edge/tcp/node_network.hpp"
#include "runtime/transport/transport_table.hpp"
#include "tests/runtime/join/test_job.hpp"

namespace troupe::testing {
namespace {

class network_transport : public ::testing::Test {
 protected:
  std::shared_ptr<transport> of_node(const std::string& name) {
    transport_options options{std::make_shared<number_codec>()};
    options.network = std::make_shared<const node_network>(node_network{
        .node = name, .address = "127.0.0.1", .credentials = joined(*job.authority, name), .node_of = node_of});
    return open(options);
  }
  std::shared_ptr<transport> of_driver() {
    transport_options options{std::make_shared<number_codec>()};
    options.endpoint = job.endpoint;
    return open(options);
  }
  static std::shared_ptr<transport> open(const transport_options& options) {
    auto made = between_nodes("tcp").between(options);
    EXPECT_TRUE(made);
    return made ? *made : nullptr;
  }
  /// An end whose other end is in `peer`, a process of that node.
  static edge_site site(const edge_offer& offer, const std::string& node, const transport& peer) {
    edge_site made;
    made.epoch = 1;
    made.shape = {.slots = 2};
    made.offer.words = offer.words;
    made.peer = {.node = node, .address = "127.0.0.1", .number = peer.contact()};
    return made;
  }
  static bool send(edge_producer& to, std::uint64_t value) {
    activation sent{{0, value}, {0, 1}, std::make_shared<number_payload>(value), nullptr, nullptr};
    return to.try_send(sent) == send_status::sent;
  }
  static std::uint64_t receive(edge_consumer& from) {
    std::optional<activation> got;
    EXPECT_TRUE(eventually([&] { return (got = from.try_receive()).has_value(); }));
    return got ? got->id.index : 0;
  }

  test_job job;
};

TEST_F(network_transport, connects_a_node_with_the_driver_and_with_another_node) {
  const auto driver = of_driver();
  const auto a = of_node("a");
  const auto b = of_node("b");
  EXPECT_EQ(driver->contact(), job.endpoint->port());
  const auto offer = *driver->offer({.slots = 2}, edge_reach::network);
  const auto from_driver = a->open_consumer(site(offer, "", *driver));
  const auto to_a = driver->open_producer(site(offer, "a", *a));
  ASSERT_TRUE(from_driver && to_a);
  EXPECT_TRUE(send(**to_a, 5));
  EXPECT_EQ(receive(**from_driver), 5u);
  const auto other = *driver->offer({.slots = 2}, edge_reach::network);
  const auto from_a = b->open_consumer(site(other, "a", *a));
  const auto to_b = a->open_producer(site(other, "b", *b));
  ASSERT_TRUE(from_a && to_b);
  EXPECT_TRUE(send(**to_b, 6));
  EXPECT_EQ(receive(**from_a), 6u);
}

TEST_F(network_transport, lets_no_node_take_the_place_of_another) {
  const auto driver = of_driver();
  const auto a = of_node("a");
  const auto evil = of_node("evil");
  const auto offer = *driver->offer({.slots = 2}, edge_reach::network);
  const auto consumer = driver->open_consumer(site(offer, "a", *a));
  const auto stolen = evil->open_producer(site(offer, "", *driver));
  ASSERT_TRUE(consumer && stolen);
  EXPECT_TRUE(send(**stolen, 1)) << "into its queue";
  const auto told = job.refused.take();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->cause, "its certificate is that of node evil, expected node a");
  const auto right = a->open_producer(site(offer, "", *driver));
  ASSERT_TRUE(right);
  EXPECT_TRUE(send(**right, 2));
  EXPECT_EQ(receive(**consumer), 2u);
  (*stolen)->abandon();
}

TEST_F(network_transport, leaves_the_endpoint_of_the_driver_open) {
  of_driver().reset();
  EXPECT_TRUE(join_job(job.ticket("late"), "troupe 1", 20s));
}

}  // namespace
}  // namespace troupe::testing
