// Goal: a sample block holds several named inputs and labels, which arrive as micro-batches with their names; what a
// data set of the user gives wrongly is an error. Method: a set of token ids with a mask and a start and an end as
// labels, compared row by row; one case for each fault.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/data/data_set_source.hpp"
#include "runtime/data/iterator_source.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/tensor/named_payload.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

using maker = std::function<sample_block(std::int64_t first, std::int64_t last)>;

class made_set final : public data_set {
 public:
  made_set(std::uint64_t size, maker make) : size_(size), make_(std::move(make)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {5}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return "made"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    return make_(static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end));
  }

 private:
  std::uint64_t size_;
  maker make_;
};

/// Sample i: ids [i, 10 i, 100 i], a transposed mask, start i, end i + 7.
sample_block question(std::int64_t first, std::int64_t last) {
  const at::Tensor rows = at::arange(first, last);
  const at::Tensor mask = at::stack({rows, rows.add(1)}).t().remainder(2).to(at::kBool);
  return {{{"ids", at::stack({rows, rows.mul(10), rows.mul(100)}, 1)}, {"mask", mask}},
          {{"start", rows}, {"end", rows.add(7).to(at::kInt)}}};
}

TEST(named_data, arrives_by_name_in_every_micro_batch) {
  const auto data = std::make_shared<made_set>(1000, question);
  for (const std::uint64_t micro_batch : {7U, 64U, 1000U, 4096U}) {
    data_set_source source(data, micro_batch);
    std::uint64_t position = 0;
    for (auto next = get(source.next()); next; next = get(source.next())) {
      ASSERT_EQ(next->samples.begin, position);
      position = next->samples.end;
      const auto first = static_cast<std::int64_t>(next->samples.begin);
      const sample_block wanted = question(first, static_cast<std::int64_t>(next->samples.end));
      const named_tensors inputs = to_named(next->tensors);
      const named_tensors labels = to_named(next->labels);
      EXPECT_EQ(inputs.names(), "ids, mask");
      EXPECT_EQ(labels.names(), "start, end");
      EXPECT_EQ(next->bytes, bytes_of(inputs) + bytes_of(labels));
      for (const auto& [given, reference] : {std::pair(&inputs, &wanted.inputs), std::pair(&labels, &wanted.labels)}) {
        for (const auto& [name, tensor] : *given) {
          EXPECT_TRUE(at::equal(tensor, reference->at(name))) << name;
          EXPECT_EQ(tensor.scalar_type(), reference->at(name).scalar_type()) << name;
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 64, 0U) << name;
          EXPECT_TRUE(tensor.is_contiguous()) << name;
        }
      }
    }
    EXPECT_EQ(position, 1000U);
    if (micro_batch == 7) {
      EXPECT_TRUE(at::equal(to_named(get(source.reread(3)).tensors).at("ids"), question(21, 28).inputs.at("ids")));
    }
  }
}

TEST(named_data, of_one_tensor_with_a_name_keeps_it) {
  const auto data = std::make_shared<made_set>(4, [](std::int64_t first, std::int64_t last) {
    return sample_block{{{"image", at::arange(first, last)}}, {}};
  });
  const auto next = get(data_set_source(data, 4).next());
  EXPECT_EQ(to_named(next->tensors).names(), "image");
  EXPECT_EQ(next->labels, nullptr) << "no labels";
}

void expect_refused(const maker& make, const std::string& cause) {
  data_set_source source(std::make_shared<made_set>(8, make), 4);
  const auto next = source.next();
  ASSERT_FALSE(next.has_value()) << cause;
  EXPECT_EQ(next.error().code, error_code::source_failed);
  EXPECT_EQ(next.error().where, "made");
  EXPECT_THAT(next.error().cause, HasSubstr(cause));
}

TEST(named_data, that_lack_rows_are_refused) {
  const at::Tensor eight = at::zeros({8});
  expect_refused([](auto, auto) { return sample_block{}; }, "samples without inputs");
  expect_refused(
      [&](auto, auto) {
        return sample_block{{{"ids", eight}, {"mask", at::zeros({7})}}, eight};
      },
      "for 8 samples its inputs \"mask\" have 7 rows");
  expect_refused(
      [&](auto, auto) {
        return sample_block{eight, {{"start", eight}, {"end", at::zeros({})}}};
      },
      "its labels \"end\" have no sample dimension");
  expect_refused([&](auto, auto) { return sample_block{at::Tensor(), eight}; }, "its inputs are undefined");
}

TEST(named_data, of_an_iterator_are_the_same) {
  int given = 0;
  const auto next = [&](sample_block block) {
    ++given;
    return iterator_source([block]() { return std::optional<batch>(block); }, nullptr, 9).next();
  };
  const auto made = get(next(question(0, 3)));
  EXPECT_EQ(to_named(made->tensors).names(), "ids, mask");
  EXPECT_EQ(to_named(made->labels).names(), "start, end");
  EXPECT_EQ(get(next({at::zeros({3, 2}), at::Tensor()}))->labels, nullptr);
  const auto refused = next({{{"ids", at::zeros({3})}, {"mask", at::zeros({2})}}, {}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().cause, HasSubstr("inputs have 3 samples, inputs \"mask\" have 2"));
  EXPECT_FALSE(next({at::Tensor(), {}}).has_value());
  EXPECT_EQ(given, 4);
}

TEST(cast_inputs, casts_an_only_input_whatever_its_type) {
  for (const at::ScalarType type : {at::kByte, at::kBool, at::kLong, at::kDouble}) {
    const auto base = std::make_shared<made_set>(6, [type](std::int64_t first, std::int64_t last) {
      return sample_block{at::arange(first, last).to(type), at::arange(first, last)};
    });
    const sample_block block = get(cast_inputs(base, at::kFloat)->read({0, 6}));
    EXPECT_TRUE(at::equal(block.inputs.only(), at::arange(6).to(type).to(at::kFloat)));
    EXPECT_EQ(block.labels.only().scalar_type(), at::kLong) << "labels stay as they are";
  }
}

TEST(cast_inputs, casts_of_several_what_is_of_a_floating_type) {
  const auto base = std::make_shared<made_set>(6, [](std::int64_t first, std::int64_t last) {
    const at::Tensor rows = at::arange(first, last);
    return sample_block{{{"x", rows.to(at::kDouble).div(3)}, {"ids", rows}}, rows.to(at::kDouble)};
  });
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    const data_set_ptr cast = cast_inputs(base, type);
    EXPECT_EQ(cast->size(), 6U);
    const sample_block block = get(cast->read({1, 5}));
    EXPECT_TRUE(at::equal(block.inputs.at("x"), at::arange(1, 5).to(at::kDouble).div(3).to(type)));
    EXPECT_EQ(block.inputs.at("x").scalar_type(), type);
    EXPECT_EQ(block.inputs.at("ids").scalar_type(), at::kLong);
    EXPECT_EQ(block.labels.only().scalar_type(), at::kDouble) << "labels stay as they are";
  }
  EXPECT_EQ(cast_inputs(base, at::kFloat)->name(), "made,float32");
}

}  // namespace
}  // namespace troupe
