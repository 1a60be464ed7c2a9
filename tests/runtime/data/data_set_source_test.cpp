// Goal: a source delivers every sample once, in order, at 64-byte boundaries, whatever the data and micro-batch size.
// Method: a counting data set, sizes around the block's, and comparison with direct reads.
#include "runtime/data/data_set_source.hpp"

#include <set>

#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "sample_files.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

/// Sample i is all i; keeps its tensors, so that it can tell whether a micro-batch is a view or a copy.
class counting_set final : public data_set {
 public:
  counting_set(std::int64_t size, std::vector<std::int64_t> shape, at::ScalarType type, std::int64_t off_by = 0)
      : shape_(std::move(shape)) {
    std::int64_t per_sample = 1;
    for (const std::int64_t n : shape_) per_sample *= n;
    // Rows begin `off_by` elements past an aligned address.
    at::Tensor all = at::arange(size).unsqueeze(1).expand({size, per_sample}).to(type).reshape({-1});
    at::Tensor room = at::empty({all.numel() + off_by}, type);
    room.narrow(0, off_by, all.numel()).copy_(all);
    std::vector<std::int64_t> sizes = shape_;
    sizes.insert(sizes.begin(), size);
    inputs_ = room.narrow(0, off_by, all.numel()).view(sizes);
    labels_ = at::arange(size);
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return static_cast<std::uint64_t>(labels_.size(0)); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return shape_; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return "counting"; }
  [[nodiscard]] expected<sample_block> read(sample_range r) const override {
    ++reads;
    if (failures_left > 0) return --failures_left, fail(error_code::data_unreadable, "counting", "asked to fail");
    const auto begin = static_cast<std::int64_t>(r.begin);
    const auto rows = static_cast<std::int64_t>(r.size());
    return sample_block{inputs_.narrow(0, begin, rows), labels_.narrow(0, begin, rows)};
  }
  [[nodiscard]] bool has_constant_memory() const noexcept override { return is_constant; }
  [[nodiscard]] bool owns(const at::Tensor& t) const { return t.storage().is_alias_of(inputs_.storage()); }

  mutable int reads = 0;
  mutable int failures_left = 0;
  bool is_constant = false;

 private:
  std::vector<std::int64_t> shape_;
  at::Tensor inputs_;
  at::Tensor labels_;
};

bool is_aligned(const at::Tensor& t) {
  return reinterpret_cast<std::uintptr_t>(t.const_data_ptr()) % 64 == 0;
}

/// Drains a source and checks all it promises.
void expect_whole(data_set_source& source, const data_set& data, std::uint64_t micro_batch, std::uint64_t samples) {
  std::uint64_t position = 0;
  std::uint64_t count = 0;
  while (true) {
    const expected<std::optional<loaded_micro_batch>> next = source.next();
    ASSERT_TRUE(next.has_value());
    if (!next->has_value()) break;
    const loaded_micro_batch& loaded = **next;
    ASSERT_EQ(loaded.samples.begin, position);
    ASSERT_EQ(loaded.samples.size(), std::min(micro_batch, samples - position));
    const at::Tensor& inputs = as_tensors(loaded.tensors).single();
    const at::Tensor& labels = as_tensors(loaded.labels).single();
    ASSERT_EQ(loaded.bytes, inputs.nbytes() + labels.nbytes());
    ASSERT_TRUE(is_aligned(inputs) && inputs.is_contiguous());
    ASSERT_TRUE(is_aligned(labels) && labels.is_contiguous());
    const sample_block direct = data.read(loaded.samples).value();
    ASSERT_TRUE(at::equal(inputs, direct.inputs.only()) && inputs.sizes() == direct.inputs.only().sizes());
    ASSERT_TRUE(at::equal(labels, direct.labels.only()));
    ASSERT_EQ(inputs.scalar_type(), direct.inputs.only().scalar_type());
    position = loaded.samples.end;
    ++count;
  }
  EXPECT_EQ(position, samples);
  EXPECT_EQ(source.count(), count);
  EXPECT_FALSE(source.next().value().has_value());
}

TEST(data_set_source, leaves_out_the_first_micro_batches_unread_and_changes_none_of_the_others) {
  const auto data = std::make_shared<counting_set>(1000, std::vector<std::int64_t>{3}, at::kFloat);
  for (const std::uint64_t first : {0U, 1U, 36U, 37U, 100U, 142U, 143U}) {
    data_set_source source(data, 7, std::nullopt, first);
    EXPECT_EQ(source.count(), 143U);
    std::uint64_t position = std::min<std::uint64_t>(1000, first * 7);
    for (auto next = *source.next(); next; next = *source.next()) {
      ASSERT_EQ(next->samples.begin, position);
      const at::Tensor& inputs = as_tensors(next->tensors).single();
      EXPECT_TRUE(is_aligned(inputs));
      EXPECT_EQ(inputs[0][0].item<float>(), static_cast<float>(position));
      position = next->samples.end;
    }
    EXPECT_EQ(position, 1000U);
  }
  data->reads = 0;
  data_set_source nothing_left(data, 7, 700, 100);
  EXPECT_FALSE(*nothing_left.next());
  EXPECT_EQ(data->reads, 0);
}

TEST(data_set_source, reads_any_that_it_gave_again_and_goes_on_where_it_was) {
  for (const std::uint64_t first : {0U, 5U}) {
    const auto data = std::make_shared<counting_set>(1000, std::vector<std::int64_t>{3}, at::kFloat, 1);
    data_set_source source(data, 7, std::nullopt, first);
    ASSERT_TRUE(source.is_rereadable());
    std::vector<loaded_micro_batch> given;
    const auto expect_again = [&](std::uint64_t index) {
      const expected<loaded_micro_batch> again = source.reread(index);
      ASSERT_TRUE(again.has_value());
      const loaded_micro_batch& before = given[index - first];
      EXPECT_EQ(again->samples, before.samples);
      EXPECT_EQ(again->bytes, before.bytes);
      EXPECT_TRUE(is_aligned(as_tensors(again->tensors).single()));
      EXPECT_TRUE(at::equal(as_tensors(again->tensors).single(), as_tensors(before.tensors).single()));
      EXPECT_TRUE(at::equal(as_tensors(again->labels).single(), as_tensors(before.labels).single()));
    };
    for (auto next = *source.next(); next; next = *source.next()) {
      ASSERT_EQ(next->samples.begin, (first + given.size()) * 7);
      given.push_back(*next);
      // One now and then, far back and near: the block is another one meanwhile.
      if (given.size() % 5 == 0) expect_again(first + given.size() * 3 / 7);
    }
    ASSERT_EQ(given.size(), 143 - first);
    for (std::uint64_t index = first; index < 143; ++index) expect_again(index);
    EXPECT_FALSE(*source.next());
  }
}

TEST(data_set_source, can_be_asked_again_after_an_error_of_either_kind) {
  const auto data = std::make_shared<counting_set>(1000, std::vector<std::int64_t>{3}, at::kFloat);
  data_set_source source(data, 100);
  for (int k = 0; k < 6; ++k) ASSERT_TRUE(source.next().has_value());
  data->failures_left = 1;
  EXPECT_FALSE(source.reread(0).has_value());
  EXPECT_EQ(source.reread(0)->samples, (sample_range{0, 100}));
  data->failures_left = 1;
  EXPECT_FALSE(source.next().has_value());
  EXPECT_EQ(source.reread(5)->samples, (sample_range{500, 600}));
  EXPECT_EQ((*source.next())->samples, (sample_range{600, 700}));
}

TEST(data_set_source, every_sample_once_in_order_and_aligned) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{{1, 4, 4}, {3}, {}, {7, 5}}) {
    for (const at::ScalarType type : {at::kFloat, at::kByte, at::kDouble}) {
      for (const std::int64_t off_by : {0, 1}) {
        const auto data = std::make_shared<counting_set>(700, shape, type, off_by);
        for (const std::uint64_t micro_batch : {1, 2, 7, 16, 64, 255, 256, 257, 699, 700, 701, 5000}) {
          SCOPED_TRACE(::testing::Message()
                       << at::IntArrayRef(shape) << ' ' << type << ' ' << off_by << ' ' << micro_batch);
          data_set_source source(data, micro_batch);
          expect_whole(source, *data, micro_batch, 700);
        }
      }
    }
  }
}

TEST(data_set_source, limits_cut_the_last_micro_batch) {
  const auto data = std::make_shared<counting_set>(700, std::vector<std::int64_t>{3}, at::kFloat);
  for (const std::uint64_t limit : {0, 1, 63, 64, 65, 300, 699, 700, 701, 100000}) {
    SCOPED_TRACE(limit);
    data_set_source source(data, 64, limit);
    expect_whole(source, *data, 64, std::min<std::uint64_t>(limit, 700));
  }
}

TEST(data_set_source, tiny_micro_batches_are_cut_from_large_reads) {
  const auto data = std::make_shared<counting_set>(1000, std::vector<std::int64_t>{3}, at::kFloat);
  data_set_source source(data, 1);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(source.next().value().has_value());
  EXPECT_LE(data->reads, 4);
}

TEST(data_set_source, large_samples_are_read_by_the_mebibyte) {
  const auto data = std::make_shared<counting_set>(64, std::vector<std::int64_t>{256, 1024}, at::kFloat);
  data_set_source source(data, 1);
  ASSERT_TRUE(source.next().value().has_value());
  ASSERT_TRUE(source.next().value().has_value());
  EXPECT_EQ(data->reads, 2);
}

TEST(data_set_source, aligned_rows_of_constant_memory_are_not_copied) {
  const auto aligned = std::make_shared<counting_set>(700, std::vector<std::int64_t>{16}, at::kFloat);
  aligned->is_constant = true;
  data_set_source views(aligned, 5);
  for (int i = 0; i < 140; ++i) EXPECT_TRUE(aligned->owns(as_tensors(views.next().value()->tensors).single()));
  aligned->is_constant = false;
  data_set_source unpromised(aligned, 5);
  EXPECT_FALSE(aligned->owns(as_tensors(unpromised.next().value()->tensors).single()));
  const auto odd = std::make_shared<counting_set>(700, std::vector<std::int64_t>{3}, at::kFloat);
  odd->is_constant = true;
  data_set_source copies(odd, 5);
  EXPECT_FALSE(odd->owns(as_tensors(copies.next().value()->tensors).single()));
}

/// Makes each block anew and remembers where, as the kinds of data of this library do; or fills one buffer.
class fresh_set final : public data_set {
 public:
  explicit fresh_set(bool fills_buffer) : fills_buffer_(fills_buffer) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return 3000; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {16}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return "fresh"; }
  [[nodiscard]] expected<sample_block> read(sample_range r) const override {
    const auto rows = static_cast<std::int64_t>(r.size());
    const at::Tensor numbers = at::arange(static_cast<std::int64_t>(r.begin), static_cast<std::int64_t>(r.end));
    if (fills_buffer_) {
      inputs_.slice(0, 0, rows).copy_(numbers.unsqueeze(1).expand({rows, 16}));
      labels_.slice(0, 0, rows).copy_(numbers);
      return sample_block{inputs_.slice(0, 0, rows), labels_.slice(0, 0, rows)};
    }
    at::Tensor made = numbers.unsqueeze(1).to(at::kFloat).repeat({1, 16});
    ++reads;
    made_at = made.const_data_ptr();
    return sample_block{std::move(made), numbers.clone()};
  }

  mutable std::size_t reads = 0;
  /// Where the newest block is.
  mutable const void* made_at = nullptr;

 private:
  bool fills_buffer_;
  at::Tensor inputs_ = at::empty({3000, 16});
  at::Tensor labels_ = at::empty({3000}, at::kLong);
};

TEST(data_set_source, blocks_that_are_made_anew_are_not_copied) {
  for (const bool is_cast : {false, true}) {
    const auto data = std::make_shared<fresh_set>(false);
    data_set_source source(is_cast ? cast_inputs(data, at::kFloat) : data_set_ptr(data), 16);
    std::size_t blocks = 0;
    while (const auto next = source.next().value()) {
      blocks += as_tensors(next->tensors).single().const_data_ptr() == data->made_at ? 1U : 0U;
    }
    EXPECT_GT(blocks, 5U) << "a block begins with a micro-batch where it was made";
    EXPECT_EQ(blocks, data->reads);
  }
}

TEST(data_set_source, a_buffer_that_is_filled_anew_changes_no_micro_batch) {
  for (const std::uint64_t micro_batch : {1U, 16U, 300U, 3000U}) {
    data_set_source source(std::make_shared<fresh_set>(true), micro_batch);
    std::vector<loaded_micro_batch> kept;
    while (auto next = source.next().value()) kept.push_back(std::move(*next));
    for (const loaded_micro_batch& each : kept) {
      const auto begin = static_cast<std::int64_t>(each.samples.begin);
      const at::Tensor wanted = at::arange(begin, static_cast<std::int64_t>(each.samples.end));
      EXPECT_TRUE(at::equal(as_tensors(each.tensors).single().select(1, 3), wanted.to(at::kFloat))) << begin;
      EXPECT_TRUE(at::equal(as_tensors(each.labels).single(), wanted)) << begin;
    }
  }
}

TEST(data_set_source, an_error_is_reported_and_the_same_samples_are_tried_again) {
  const auto data = std::make_shared<counting_set>(10, std::vector<std::int64_t>{3}, at::kFloat);
  data->failures_left = 2;
  data_set_source source(data, 4);
  EXPECT_EQ(source.next().error().code, error_code::data_unreadable);
  EXPECT_EQ(source.next().error().code, error_code::data_unreadable);
  expect_whole(source, *data, 4, 10);
}

TEST(data_set_source, micro_batches_outlive_source_and_data) {
  const testing::scratch_directory dir;
  std::vector<loaded_micro_batch> kept;
  {
    data_set_source source(open_data("cifar10:" + dir.write("a.bin", testing::cifar_records(300))).value(), 3);
    while (auto next = source.next().value()) kept.push_back(std::move(*next));
  }
  ASSERT_EQ(kept.size(), 100U);
  for (std::size_t m = 0; m < kept.size(); ++m) {
    const at::Tensor& inputs = as_tensors(kept[m].tensors).single();
    for (std::int64_t i = 0; i < 3; ++i) {
      const auto sample = static_cast<std::int64_t>(3 * m) + i;
      EXPECT_EQ(inputs[i][0][0][0].item<float>(), static_cast<float>(sample * 7 % 256) / 255.0F);
      EXPECT_EQ(as_tensors(kept[m].labels).single()[i].item<std::int64_t>(), sample % 10);
    }
  }
}

TEST(data_set_source, real_mnist_at_several_sizes) {
  const data_set_ptr data = open_data("mnist:" + (testing::data_dir() / "mnist").string()).value();
  for (const std::uint64_t micro_batch : {1, 7, 64, 999, 10000}) {
    data_set_source source(data, micro_batch, 2000);
    expect_whole(source, *data, micro_batch, 2000);
  }
}

}  // namespace
}  // namespace troupe
