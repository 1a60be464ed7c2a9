// Goal: what a user's iterator gives is counted, in samples and in bytes, also where batches differ in size or have no
// labels, and stays as it is when the iterator fills its memory anew. Method: short iterators, read to their end.
#include "runtime/data/iterator_source.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

TEST(iterator_source, counts_the_samples_and_bytes_of_each_batch) {
  std::vector<batch> batches = {{at::zeros({3, 5}), at::zeros({3}, at::kLong)}, {at::zeros({2, 5}), {}}};
  std::size_t given = 0;
  iterator_source source(
      [&]() -> std::optional<batch> {
        return given == batches.size() ? std::nullopt : std::optional(batches[given++]);
      },
      nullptr, 7);
  auto next = source.next();
  ASSERT_TRUE(next && *next) << "a batch with labels";
  EXPECT_EQ((*next)->samples.begin, 0u);
  EXPECT_EQ((*next)->samples.end, 3u);
  EXPECT_EQ((*next)->bytes, 3u * 5 * 4 + 3 * 8);
  next = source.next();
  ASSERT_TRUE(next && *next) << "one without";
  EXPECT_EQ((*next)->samples.begin, 3u);
  EXPECT_EQ((*next)->samples.end, 5u);
  EXPECT_EQ((*next)->bytes, 2u * 5 * 4);
  next = source.next();
  ASSERT_TRUE(next && !*next);
  EXPECT_TRUE(source.exhausted());
}

TEST(iterator_source, refuses_a_batch_without_samples) {
  iterator_source source(
      [] {
        return std::optional<batch>({at::zeros({0, 5}), at::zeros({0}, at::kLong)});
      },
      nullptr, 7);
  const auto next = source.next();
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().code, error_code::source_failed);
  EXPECT_EQ(next.error().cause, "a batch without samples");
}

const at::Tensor& inputs_in(const loaded_micro_batch& given) {
  return as_tensors(given.tensors).single();
}

loaded_micro_batch only_batch(const data_iterator& iterator, bool is_constant = false) {
  return **iterator_source(iterator, nullptr, 1, is_constant).next();
}

TEST(iterator_source, copies_what_can_be_filled_anew) {
  const at::Tensor inputs = at::zeros({3, 16});
  const at::Tensor labels = at::zeros({3}, at::kLong);
  const data_iterator same = [&] { return std::optional(batch{inputs, labels}); };
  const loaded_micro_batch kept = only_batch(same);
  inputs.fill_(7);
  labels.fill_(1);
  EXPECT_TRUE(at::equal(inputs_in(kept), at::zeros({3, 16})));
  EXPECT_TRUE(at::equal(as_tensors(kept.labels).single(), at::zeros({3}, at::kLong)));
  EXPECT_EQ(inputs_in(only_batch(same, true)).const_data_ptr(), inputs.const_data_ptr()) << "a promise";

  std::vector<float> memory(64 + 16);
  const data_iterator foreign = [&] {
    auto* aligned = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
    return std::optional(batch{at::from_blob(aligned, {3, 16}), {}});
  };
  const loaded_micro_batch copy = only_batch(foreign);
  std::fill(memory.begin(), memory.end(), 5.0F);
  EXPECT_TRUE(at::equal(inputs_in(copy), at::zeros({3, 16}))) << "memory of the user's own";

  const data_iterator view = [&] { return std::optional(batch{inputs.slice(0, 1), {}}); };
  const loaded_micro_batch part = only_batch(view);
  inputs.fill_(9);
  EXPECT_TRUE(at::equal(inputs_in(part), at::full({2, 16}, 7.0F))) << "a view of a kept tensor";
}

TEST(iterator_source, takes_what_is_made_anew_without_a_copy) {
  const void* made = nullptr;
  const data_iterator fresh = [&] {
    at::Tensor inputs = at::ones({3, 16});
    made = inputs.const_data_ptr();
    return std::optional(batch{std::move(inputs), at::zeros({3}, at::kLong)});
  };
  EXPECT_EQ(inputs_in(only_batch(fresh)).const_data_ptr(), made);
  const batch_function twice = [&](batch given) {
    at::Tensor inputs = given.inputs.only() * 2;
    made = inputs.const_data_ptr();
    return batch{std::move(inputs), given.labels};
  };
  const loaded_micro_batch doubled = **iterator_source(fresh, twice, 1).next();
  EXPECT_EQ(inputs_in(doubled).const_data_ptr(), made);
  EXPECT_TRUE(at::equal(inputs_in(doubled), at::full({3, 16}, 2.0F)));
}

TEST(iterator_source, every_tensor_begins_at_a_boundary_and_keeps_its_strides) {
  const at::Tensor all = at::arange(6 * 3 * 4 * 5).to(at::kFloat).view({6, 3, 4, 5});
  for (const at::Tensor& inputs : {all.slice(0, 1), all.slice(0, 1).contiguous(at::MemoryFormat::ChannelsLast)}) {
    for (const bool is_constant : {false, true}) {
      const loaded_micro_batch taken = only_batch([&] { return std::optional(batch{inputs, {}}); }, is_constant);
      EXPECT_TRUE(at::equal(inputs_in(taken), inputs));
      EXPECT_EQ(inputs_in(taken).strides(), inputs.strides());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(inputs_in(taken).const_data_ptr()) % 64, 0U);
    }
  }
  const at::Tensor expanded = at::ones({1, 3}).expand({4, 3});
  const loaded_micro_batch taken = only_batch([&] { return std::optional(batch{expanded, {}}); });
  EXPECT_TRUE(inputs_in(taken).is_contiguous()) << "as behind an edge between processes";
}

}  // namespace
}  // namespace troupe
