// Goal: an announcement survives its way, and nothing else is read as one. Method: the codec alone.
#include "runtime/edge/cuda_ipc/ipc_announcement.hpp"

#include "ipc_test_support.hpp"

namespace troupe::testing {
namespace {

class ipc_announcement_codec : public ::testing::Test {
 protected:
  std::span<const std::byte> bytes_of(const payload& value) {
    const auto made = std::span(room).first(codec->size_of(value));
    codec->write(value, made);
    return made;
  }
  const std::shared_ptr<const payload_codec> codec = ipc::announcing_codec(std::make_shared<const number_codec>());
  alignas(limits::payload_alignment) std::array<std::byte, 1024> room{};
};

TEST_F(ipc_announcement_codec, reads_what_it_writes_and_keeps_the_owner) {
  ipc::announcement said(std::make_shared<const nccl::announcement>(
      0, std::vector<std::byte>(24, std::byte{5}),
      std::vector<device_extent>{{10, nccl::element::bfloat16}, {3, nccl::element::uint8}}));
  said.where = {.flushed_before = 4, .slot = 2, .spots = {{.offset = 128}, {.offset = 640}}};
  said.where.spots.front().memory.fill(std::byte{0x11});
  said.where.spots.back().memory.fill(std::byte{0x12});
  said.where.event.fill(std::byte{0x22});
  const auto bytes = bytes_of(said);
  const auto owner = std::make_shared<const int>(0);
  const auto got = codec->read(bytes, owner);
  ASSERT_TRUE(got);
  const auto& heard = dynamic_cast<const ipc::announcement&>(**got);
  EXPECT_EQ(heard.where.flushed_before, 4u);
  EXPECT_EQ(heard.where.block, 0u);
  EXPECT_EQ(heard.where.slot, 2u);
  EXPECT_EQ(heard.where.spots, said.where.spots);
  EXPECT_EQ(heard.where.event, said.where.event);
  EXPECT_EQ(heard.tensors->description, said.tensors->description);
  EXPECT_EQ(heard.tensors->extents, said.tensors->extents);
  EXPECT_EQ(heard.owner, owner);
  constexpr std::size_t head = 104;
  for (std::size_t size = head; size < bytes.size(); ++size) {
    const auto cut = codec->read(bytes.first(size), owner);
    EXPECT_FALSE(cut && dynamic_cast<const ipc::announcement*>(cut->get()) != nullptr) << size;
  }
}

TEST_F(ipc_announcement_codec, has_a_spot_for_each_extent_and_for_a_block_one) {
  const auto of_extents = [](std::size_t count) {
    return std::make_shared<const nccl::announcement>(0, std::vector<std::byte>(8),
                                                      std::vector<device_extent>(count, {4, nccl::element::uint8}));
  };
  for (const std::size_t extents : {0u, 1u, 3u}) {
    ipc::announcement said(of_extents(extents));
    said.where = {.block = 7, .spots = {{.offset = 64}}};
    const auto bytes = bytes_of(said);
    const auto got = codec->read(bytes, nullptr);
    ASSERT_TRUE(got) << to_string(got.error());
    const auto& heard = dynamic_cast<const ipc::announcement&>(**got).where;
    EXPECT_EQ(heard.block, 7u);
    EXPECT_EQ(heard.spots.size(), std::max<std::size_t>(extents, 1));
    EXPECT_EQ(heard.spots.front(), said.where.spots.front());
    for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{257}, ~std::uint64_t{0}}) {
      std::memcpy(room.data() + 32, &wrong, sizeof(wrong));
      const auto refused = codec->read(bytes, nullptr);
      ASSERT_FALSE(refused) << wrong << " spots for " << extents;
      EXPECT_EQ(refused.error().code, error_code::wire_malformed);
    }
  }
}

TEST_F(ipc_announcement_codec, leaves_other_payloads_as_they_are) {
  const auto got = codec->read(bytes_of(number_payload(9, 500)), nullptr);
  ASSERT_TRUE(got);
  EXPECT_EQ(dynamic_cast<const viewed_payload&>(**got).value(), 9u);
}

}  // namespace
}  // namespace troupe::testing
