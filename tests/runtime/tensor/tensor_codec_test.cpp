// Goal: tensors travel as bytes and come back with the same bits, sizes, strides and names, viewing the bytes; and
// bytes of an untrusted peer are refused or harmless. Method: round trips over dtypes and layouts; every truncation;
// seeded damage.
#include "runtime/tensor/tensor_codec.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "runtime/tensor/tensor_description.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

/// Aligned as a slot is.
struct buffer {
  explicit buffer(std::size_t size)
      : memory(static_cast<std::byte*>(std::aligned_alloc(limits::payload_alignment, (size / 64 + 1) * 64)), std::free),
        bytes(memory.get(), size) {}
  std::shared_ptr<std::byte> memory;
  std::span<std::byte> bytes;
};

buffer written(const payload& value) {
  const tensor_codec codec;
  buffer made(codec.size_of(value));
  codec.write(value, made.bytes);
  return made;
}

/// Behind a block of another payload, as labels lie.
buffer gathered(const payload& value) {
  gathered_bytes pieces;
  (void)pieces.own(limits::payload_alignment);
  tensor_codec{}.gather(value, pieces);
  buffer made(pieces.size() - limits::payload_alignment);
  std::byte* at = made.bytes.data();
  for (const auto piece : pieces.pieces().subspan(1)) at = std::copy(piece.begin(), piece.end(), at);
  return made;
}

void expect_same(const tensor_set& read, const tensor_set& given) {
  ASSERT_EQ(read.tensors().size(), given.tensors().size());
  for (std::size_t index = 0; index < given.tensors().size(); ++index) {
    const at::Tensor& a = read.tensors()[index];
    const at::Tensor& b = given.tensors()[index];
    EXPECT_EQ(read.name(index), given.name(index));
    EXPECT_EQ(a.scalar_type(), b.scalar_type());
    EXPECT_EQ(a.sizes(), b.sizes());
    if (is_sent_as_it_lies(b)) {
      EXPECT_EQ(a.strides(), b.strides());
      EXPECT_FALSE(a.is_conj() || a.is_neg()) << "values, not a view that makes them";
    }
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.const_data_ptr()) % limits::payload_alignment, 0u);
    const at::Tensor x = at::empty(b.sizes(), b.options()).copy_(a);
    const at::Tensor y = at::empty(b.sizes(), b.options()).copy_(b);
    if (y.nbytes() == 0) continue;
    EXPECT_EQ(std::memcmp(x.const_data_ptr(), y.const_data_ptr(), y.nbytes()), 0) << "bit by bit, NaN too";
  }
}

TEST(tensor_codec, gives_back_the_same_bits_sizes_strides_and_names) {
  const at::Tensor image = at::randn({2, 3, 4, 5});
  at::Tensor odd = at::randn({3});
  odd[0] = std::numeric_limits<float>::quiet_NaN();
  odd[1] = -std::numeric_limits<float>::infinity();
  odd[2] = -0.0;
  const auto check = [](std::vector<at::Tensor> tensors, std::vector<std::string> names = {}) {
    const auto given = std::make_shared<const tensor_set>(std::move(tensors), std::move(names));
    for (const buffer& bytes : {written(*given), gathered(*given)}) {
      EXPECT_EQ(bytes.bytes.size(), tensor_codec{}.size_of(*given));
      auto read = tensor_codec{}.read(bytes.bytes, bytes.memory);
      ASSERT_TRUE(read) << to_string(read.error());
      expect_same(as_tensors(*read), *given);
    }
  };
  check({});
  check({image});
  check({odd});
  check({image.to(at::MemoryFormat::ChannelsLast)});
  check({image.transpose(0, 3)});
  check({image.narrow(3, 1, 2)});
  check({image.narrow(3, 1, 1)});
  check({image.slice(1, 0, 3, 2).transpose(1, 2)});
  check({image.select(1, 1).expand({4, 2, 4, 5})});
  check({at::empty({0, 7})});
  check({at::scalar_tensor(3.5)});
  check({at::randn({1, 1, 3}).transpose(0, 2), at::arange(5)}, {"logits", "a longer name than eight bytes"});
  // Views whose memory holds something else than their values.
  const at::Tensor waves = at::randn({3, 4}, at::kComplexFloat);
  check({waves.conj()});
  check({at::imag(waves.conj())});
  check({waves.conj().narrow(1, 1, 2)});
  check({waves.mH()});
  check({image.to(at::MemoryFormat::ChannelsLast)._neg_view()});
  check({at::_efficientzerotensor({2, 3}, at::kFloat)});
  for (const at::ScalarType type : {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16,
                                    at::kFloat, at::kDouble, at::kBool}) {
    check({at::randint(0, 2, {3, 5}).to(type), at::randint(0, 2, {7}).to(type)}, {"", "second"});
  }
}

TEST(tensor_codec, gives_back_quantized_tensors_with_their_scale) {
  const at::Tensor image = at::randn({2, 3, 4, 5});
  const double scale = 0.1 + 1e-12;  // more than a float holds
  for (const auto& [type, zero_point] : {std::pair{at::kQUInt8, 113}, {at::kQInt8, -5}, {at::kQInt32, 70000}}) {
    const at::Tensor dense = at::quantize_per_tensor(image, scale, zero_point, type);
    for (const at::Tensor& given :
         {dense, dense.contiguous(at::MemoryFormat::ChannelsLast), dense.transpose(0, 3), dense.narrow(3, 1, 2)}) {
      const auto set =
          std::make_shared<const tensor_set>(std::vector{given, image}, std::vector<std::string>{"q", "f"});
      for (const buffer& bytes : {written(*set), gathered(*set)}) {
        auto read = tensor_codec{}.read(bytes.bytes, bytes.memory);
        ASSERT_TRUE(read) << to_string(read.error());
        const at::Tensor& back = as_tensors(*read).tensors().front();
        EXPECT_EQ(back.scalar_type(), type);
        EXPECT_EQ(back.q_scale(), scale);
        EXPECT_EQ(back.q_zero_point(), zero_point);
        EXPECT_TRUE(at::equal(back.int_repr(), given.int_repr()));
        EXPECT_TRUE(at::equal(back.dequantize(), given.dequantize()));
        if (given.is_non_overlapping_and_dense()) EXPECT_EQ(back.strides(), given.strides());
        EXPECT_TRUE(at::equal(as_tensors(*read).tensors().back(), image)) << "what follows is where it was";
      }
    }
  }
}

TEST(tensor_codec, refuses_a_scale_that_no_tensor_has) {
  const at::Tensor given = at::quantize_per_tensor(at::randn({4}), 0.5, 7, at::kQUInt8);
  const auto refused = [&](std::size_t word, auto value) {
    const buffer bytes = written(tensor_set{given});
    static_assert(sizeof value == 8);
    std::memcpy(bytes.bytes.data() + word * 8, &value, 8);
    return !tensor_codec{}.read(bytes.bytes, bytes.memory).has_value();
  };
  // magic, type, offset, size, stride, scale, zero point
  EXPECT_FALSE(refused(5, 0.25));
  EXPECT_FALSE(refused(6, std::int64_t{255}));
  for (const double scale : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")})
    EXPECT_TRUE(refused(5, scale)) << scale;
  for (const std::int64_t zero_point : {-1, 256}) EXPECT_TRUE(refused(6, zero_point)) << zero_point;
}

TEST(tensor_codec, refuses_what_has_no_bytes) {
  const tensor_codec codec;
  const at::Tensor dense = at::randn({3, 4});
  const at::Tensor two_scales =
      at::quantize_per_channel(dense, at::full({3}, 0.1, at::kDouble), at::zeros({3}, at::kLong), 0, at::kQInt8);
  for (const at::Tensor& each : {dense.to_sparse(), two_scales, at::empty({2}, at::TensorOptions().device(at::kMeta)),
                                 at::zeros({2}, at::kComplexHalf), at::zeros(std::vector<std::int64_t>(65, 1))}) {
    EXPECT_THROW(static_cast<void>(codec.size_of(tensor_set{each})), std::runtime_error) << each.toString();
  }
  const at::Tensor nested = at::_nested_tensor_from_tensor_list({dense, dense.narrow(0, 0, 2)}, at::kFloat,
                                                                at::kStrided, at::Device(at::kCPU), false);
  EXPECT_THROW(static_cast<void>(codec.size_of(tensor_set{nested})), std::runtime_error);
  const tensor_set many(std::vector<at::Tensor>(limits::wire_tensors_max + 1, dense));
  EXPECT_THROW(static_cast<void>(codec.size_of(many)), std::runtime_error);
  const tensor_set named({dense}, {std::string(limits::wire_tensor_name_bytes_max + 1, 'n')});
  EXPECT_THROW(static_cast<void>(codec.size_of(named)), std::runtime_error);
}

/// Counts what tensors allocate while it lives, and lets the allocator that is there do it.
class allocation_counter final : public at::Allocator {
 public:
  allocation_counter() { c10::SetCPUAllocator(this, 1); }
  ~allocation_counter() override { c10::SetCPUAllocator(whose_, 1); }
  at::DataPtr allocate(std::size_t bytes) override {
    ++count;
    return whose_->allocate(bytes);
  }
  at::DeleterFnPtr raw_deleter() const override { return whose_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { whose_->copy_data(to, from, bytes); }
  std::uint64_t count = 0;

 private:
  at::Allocator* const whose_ = c10::GetCPUAllocator();
};

TEST(tensor_codec, copies_once_straight_to_its_place_whatever_the_strides) {
  const at::Tensor image = at::randn({2, 3, 4, 5});
  const tensor_codec codec;
  const std::vector<at::Tensor> each = {image, image.narrow(3, 1, 2), image.select(1, 1).expand({4, 2, 4, 5}),
                                        at::randn({3, 4}, at::kComplexFloat).conj()};
  for (const at::Tensor& tensor : each) {
    const tensor_set given{tensor};
    buffer bytes(codec.size_of(given));
    const allocation_counter counter;
    ASSERT_EQ(codec.size_of(given), bytes.bytes.size());
    codec.write(given, bytes.bytes);
    EXPECT_EQ(counter.count, 0) << tensor.sizes() << " with strides " << tensor.strides();
  }
}

TEST(tensor_codec, keeps_the_strides_of_what_has_small_gaps_or_shares_elements) {
  const at::Tensor keys = at::randn({2, 5, 12}).narrow(2, 4, 4);
  const at::Tensor mask = at::randn({2, 1, 1, 5}).expand({2, 3, 5, 5});
  const at::Tensor column = at::randn({5, 12}).narrow(1, 4, 1);
  EXPECT_TRUE(is_sent_as_it_lies(keys) && is_sent_as_it_lies(mask));
  EXPECT_FALSE(is_sent_as_it_lies(column)) << "twelve times the values";
  EXPECT_EQ(sent_bytes(mask), 2U * 5U * 4U);
  EXPECT_EQ(sent_bytes(column), column.nbytes());
  const tensor_set given({keys, mask, column});
  const buffer bytes = written(given);
  const auto read = tensor_codec{}.read(bytes.bytes, bytes.memory);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(as_tensors(*read).tensors()[0].strides(), keys.strides());
  EXPECT_EQ(as_tensors(*read).tensors()[1].strides(), mask.strides());
  expect_same(as_tensors(*read), given);
}

TEST(tensor_codec, gathers_tensors_from_where_they_lie) {
  const at::Tensor dense = at::randn({8, 4}).t();
  const at::Tensor sparse_rows = at::randn({40, 4}).slice(0, 0, 40, 8);
  const tensor_set given({dense, sparse_rows});
  gathered_bytes pieces;
  tensor_codec{}.gather(given, pieces);
  const auto lies_at = [&](const at::Tensor& tensor) {
    return std::ranges::any_of(pieces.pieces(), [&](const auto& each) {
      return each.data() == tensor.const_data_ptr() && each.size() == tensor.nbytes();
    });
  };
  EXPECT_TRUE(lies_at(dense));
  EXPECT_FALSE(lies_at(sparse_rows)) << "its memory has rows that are not its own";
}

TEST(tensor_codec, views_the_bytes_and_keeps_their_owner) {
  const tensor_set given{at::arange(100)};
  buffer bytes = written(given);
  const std::weak_ptr<const std::byte> owner = bytes.memory;
  auto read = tensor_codec{}.read(bytes.bytes, bytes.memory);
  ASSERT_TRUE(read);
  at::Tensor view = as_tensors(*read).single().narrow(0, 10, 5);
  const auto* data = static_cast<const std::byte*>(view.const_data_ptr());
  EXPECT_TRUE(data >= bytes.bytes.data() && data < bytes.bytes.data() + bytes.bytes.size());
  bytes.memory.reset();
  read->reset();
  EXPECT_FALSE(owner.expired()) << "a view of a view is still there";
  EXPECT_EQ(view.sum().item<std::int64_t>(), 60);
  view = at::Tensor{};
  EXPECT_TRUE(owner.expired());
}

TEST(tensor_codec, refuses_every_truncation) {
  const buffer bytes = written(tensor_set{{at::randn({3, 4}), at::arange(9)}, {"a", "b"}});
  for (std::size_t size = 0; size < bytes.bytes.size(); ++size) {
    const auto read = tensor_codec{}.read(bytes.bytes.first(size), bytes.memory);
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().code, error_code::wire_malformed);
  }
}

TEST(tensor_codec, reads_damaged_bytes_without_harm) {
  const buffer whole = written(tensor_set{{at::randn({3, 4}), at::randn({2, 2}).t()}, {"a", "b"}});
  const std::size_t description = 2 * 8 + 2 * (3 * 8 + 2 * 16);
  std::mt19937_64 random{1};
  std::uint64_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    buffer damaged(whole.bytes.size());
    std::memcpy(damaged.bytes.data(), whole.bytes.data(), whole.bytes.size());
    for (std::uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      const std::size_t at = random() % description;
      damaged.bytes[at] = static_cast<std::byte>(random());
    }
    const auto read = tensor_codec{}.read(damaged.bytes, damaged.memory);
    if (!read) {
      ++refused;
      continue;
    }
    for (const at::Tensor& each : as_tensors(*read).tensors()) {
      EXPECT_LE(each.nbytes(), damaged.bytes.size());
      static_cast<void>(each.clone());  // touches all bytes, under AddressSanitizer too
    }
  }
  EXPECT_GT(refused, 10000u);
}

}  // namespace
}  // namespace troupe
