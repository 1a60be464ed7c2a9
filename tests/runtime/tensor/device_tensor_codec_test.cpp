// Goal: tensors of a device are described in bytes of the host and come back as views of the device's memory, with the
// same dtype, sizes, strides and names; what an untrusted peer says is refused before memory is taken. Method: round
// trips on a device of our own for LibTorch, whose memory is copied as an edge would; every truncation; seeded damage.
#include "runtime/tensor/device_tensor_codec.hpp"

#include <cstring>
#include <random>

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "testing/late_torch/late_torch.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

class device_tensors : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { late::register_late_torch(); }

  static payload_ptr on_device(const std::vector<at::Tensor>& tensors, std::vector<std::string> names = {}) {
    std::vector<at::Tensor> moved;
    for (const at::Tensor& each : tensors) moved.push_back(each.to(device));
    return std::make_shared<const tensor_set>(std::move(moved), std::move(names));
  }

  /// Memory of the device as an edge takes it, one block for each extent.
  struct arrived {
    std::vector<at::Tensor> blocks;
    std::vector<std::byte*> places;
  };
  static arrived taken_for(const std::vector<device_extent>& extents) {
    arrived made;
    for (const device_extent& each : extents) {
      made.blocks.push_back(
          at::empty({static_cast<std::int64_t>(each.count)}, at::TensorOptions(at::kByte).device(device)));
      made.places.push_back(static_cast<std::byte*>(made.blocks.back().mutable_data_ptr()));
    }
    return made;
  }

  static inline const c10::Device device = late::late_device();
  device_tensor_codec codec{device};
};

TEST_F(device_tensors, come_back_as_views_with_the_same_bits_sizes_strides_and_names) {
  const auto check = [&](const std::vector<at::Tensor>& tensors, std::vector<std::string> names = {}) {
    const payload_ptr given = on_device(tensors, std::move(names));
    const tensor_set& before = as_tensors(given);
    codec.check(*given);
    const device_parts parts = codec.split(given);
    const auto fits = codec.matches(parts.description, parts.extents);
    ASSERT_TRUE(fits) << to_string(fits.error());
    arrived there = taken_for(parts.extents);
    for (std::size_t index = 0; index < parts.places.size(); ++index) {
      const auto bytes = static_cast<std::int64_t>(parts.extents[index].count);
      auto* from = const_cast<std::byte*>(parts.places[index]);  // NOLINT: LibTorch has no views of const memory
      const auto options = at::TensorOptions(at::kByte).device(device);
      there.blocks[index].copy_(at::for_blob(from, {bytes}).target_device(device).options(options).make_tensor());
    }
    const auto joined = codec.join(parts.description, parts.extents, there.places,
                                   std::make_shared<const std::vector<at::Tensor>>(there.blocks));
    ASSERT_TRUE(joined) << to_string(joined.error());
    const tensor_set& after = as_tensors(*joined);
    ASSERT_EQ(after.tensors().size(), tensors.size());
    for (std::size_t index = 0, next = 0; index < tensors.size(); ++index) {
      const at::Tensor& one = after.tensors()[index];
      EXPECT_EQ(after.name(index), before.name(index));
      EXPECT_EQ(one.device(), device);
      EXPECT_EQ(one.scalar_type(), tensors[index].scalar_type());
      EXPECT_EQ(one.sizes(), tensors[index].sizes());
      EXPECT_EQ(one.strides(), before.tensors()[index].strides());
      EXPECT_TRUE(at::equal(one.cpu(), tensors[index]));
      if (one.nbytes() == 0) continue;
      EXPECT_EQ(one.const_data_ptr(), there.places[next++]) << "in place";
    }
  };
  const at::Tensor image = at::randn({2, 3, 4, 5});
  check({});
  check({image});
  check({image.to(at::MemoryFormat::ChannelsLast)});
  check({at::empty({0, 7}), image}, {"none", "some"});
  check({at::scalar_tensor(3.5)});
  check({at::randn({1, 1, 3}), at::arange(5)}, {"logits", "a longer name than eight bytes"});
  for (const at::ScalarType type : {at::kByte, at::kShort, at::kLong, at::kHalf, at::kBFloat16, at::kDouble, at::kBool})
    check({at::randint(0, 2, {3, 5}).to(type)});
}

TEST_F(device_tensors, are_kept_one_by_one) {
  payload_ptr given = on_device({at::ones({4}), at::empty({0, 7}), at::ones({5})});
  const auto before = late::counts().bytes;
  device_parts parts = codec.split(given);
  ASSERT_EQ(parts.owners.size(), parts.places.size());
  given.reset();
  parts.owner.reset();
  EXPECT_EQ(late::counts().bytes, before);
  parts.owners.front().reset();
  EXPECT_EQ(late::counts().bytes, before - 16);
  parts.owners.back().reset();
  EXPECT_EQ(late::counts().bytes, before - 16 - 20);
}

TEST_F(device_tensors, keep_the_memory_of_the_place_and_of_the_payload) {
  payload_ptr given = on_device({at::ones({4})});
  const std::weak_ptr<const payload> payload_lives = given;
  device_parts parts = codec.split(given);
  given.reset();
  EXPECT_FALSE(payload_lives.expired()) << "what is sent is read later";
  parts.owner.reset();
  EXPECT_TRUE(payload_lives.expired());
  parts.owners.clear();

  arrived there = taken_for(parts.extents);
  auto owner = std::make_shared<const std::vector<at::Tensor>>(there.blocks);
  const std::weak_ptr<const void> owner_lives = owner;
  auto joined = codec.join(parts.description, parts.extents, there.places, std::move(owner));
  ASSERT_TRUE(joined) << to_string(joined.error());
  at::Tensor last = as_tensors(*joined).single();
  joined->reset();
  EXPECT_FALSE(owner_lives.expired()) << "a tensor is left";
  last.reset();
  EXPECT_TRUE(owner_lives.expired());
}

TEST_F(device_tensors, are_refused_where_their_memory_does_not_say_all) {
  const at::Tensor dense = at::randn({3, 4}).to(device);
  const auto refused = [&](const at::Tensor& tensor, const char* why) {
    try {
      codec.check(tensor_set{tensor});
      ADD_FAILURE() << "taken, though " << why;
    } catch (const std::runtime_error& caught) {
      EXPECT_THAT(caught.what(), HasSubstr(why));
    }
  };
  refused(at::randn({3}), "it is on cpu");
  {
    const c10::DeviceGuard other(late::late_device(1));  // on which this device makes its tensors
    refused(at::randn({3}).to(late::late_device(1)), "it is on late:1, not on late:0");
  }
  refused(dense.narrow(1, 1, 2), "not dense");
  refused(dense.select(0, 1).expand({2, 4}), "not dense");
  EXPECT_THROW(codec.check(tensor_set(std::vector<at::Tensor>(limits::wire_tensors_max + 1, dense))),
               std::runtime_error);
  EXPECT_THROW(codec.check(tensor_set({dense}, {std::string(limits::wire_tensor_name_bytes_max + 1, 'n')})),
               std::runtime_error);
}

TEST_F(device_tensors, match_their_own_extents_alone) {
  const device_parts parts = codec.split(on_device({at::randn({3, 5}), at::arange(7)}, {"a", "b"}));
  auto more = parts.extents;
  ++more[1].count;
  EXPECT_FALSE(codec.matches(parts.description, more));
  more = parts.extents;
  more[0].type = nccl::element::int8;
  EXPECT_FALSE(codec.matches(parts.description, more));
  EXPECT_FALSE(codec.matches(parts.description, std::span(parts.extents).first(1)));
  for (std::size_t bytes = 0; bytes < parts.description.size(); ++bytes) {
    const auto fits = codec.matches(std::span(parts.description).first(bytes), parts.extents);
    ASSERT_FALSE(fits) << bytes;
    EXPECT_EQ(fits.error().code, error_code::wire_malformed);
  }
  auto longer = parts.description;
  longer.emplace_back();
  EXPECT_FALSE(codec.matches(longer, parts.extents));
}

// A size that overflows, a stride that is negative: an accepted tensor lies inside the places.
TEST_F(device_tensors, of_a_damaged_description_lie_inside_their_places) {
  const device_parts parts = codec.split(on_device({at::randn({3, 5}), at::arange(7)}, {"a", "b"}));
  const arrived there = taken_for(parts.extents);
  const auto owner = std::make_shared<const std::vector<at::Tensor>>(there.blocks);
  std::mt19937 random(20);  // NOLINT: the same damage each time
  std::size_t taken = 0;
  for (int round = 0; round < 3000; ++round) {
    auto damaged = parts.description;
    damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    if (!codec.matches(damaged, parts.extents)) continue;
    ++taken;
    const auto joined = codec.join(damaged, parts.extents, there.places, owner);
    ASSERT_TRUE(joined) << to_string(joined.error());
    for (std::size_t index = 0; index < 2; ++index)
      EXPECT_EQ(as_tensors(*joined).tensors()[index].nbytes(), parts.extents[index].count);
  }
  EXPECT_GT(taken, 0u) << "names and dtypes of the same size";
  EXPECT_LT(taken, 3000u);
}

}  // namespace
}  // namespace troupe
