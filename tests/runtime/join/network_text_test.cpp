// Goal: a worker reads exactly the network that its agent wrote. Method: texts there and back, and every cut and
// changed byte of one.
#include "runtime/join/network_text.hpp"

#include <gtest/gtest.h>

#include "runtime/process/memory_file.hpp"

namespace troupe::testing {
namespace {

const node_network sample_network{
    .node = "w1", .address = "::1", .credentials = {"cert ", "5 key\n", ""}, .node_of = nullptr};

TEST(network_text, comes_back_from_its_text) {
  const std::string text = to_text(sample_network);
  EXPECT_EQ(text, "troupe-network-1 2 w1 3 ::1 5 cert  6 5 key\n 0 ");
  const auto back = parse_network(text);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->node, "w1");
  EXPECT_EQ(back->address, "::1");
  EXPECT_EQ(back->credentials.certificate, "cert ");
  EXPECT_EQ(back->credentials.key, "5 key\n");
  EXPECT_EQ(back->credentials.ca, "");
  EXPECT_TRUE(back->node_of);
}

TEST(network_text, no_other_text_is_taken) {
  const std::string text = to_text(sample_network);
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto got = parse_network(text.substr(0, size));
    ASSERT_FALSE(got) << size;
    EXPECT_EQ(got.error().code, error_code::wire_malformed);
  }
  EXPECT_FALSE(parse_network(text + ' '));
  EXPECT_FALSE(parse_network("troupe-network-1 18446744073709551615 w"));
  EXPECT_FALSE(parse_network("troupe-network-1 99999999999999999999999 w"));
}

TEST(network_text, is_read_from_an_inherited_file) {
  const auto file = memory_file::make("network", to_text(sample_network));
  ASSERT_TRUE(file);
  const auto read = read_network(file->duplicate()->release());
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->node, "w1");
  EXPECT_FALSE(read_network(-1));
}

}  // namespace
}  // namespace troupe::testing
