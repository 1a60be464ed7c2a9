#include "runtime/optimizer/gradient_tree.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/seeded_draw.hpp"
#include "runtime/ledger/step_layout.hpp"
#include "runtime/optimizer/finish_blocks.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "tests/support/formula_tensors.hpp"

namespace troupe {
namespace {

using testing::formula_uniform;

/// Sums of numbers of very different sizes depend on their order nearly always.
at::Tensor uneven(const std::string& name, at::IntArrayRef sizes) {
  return formula_uniform(name, sizes) * at::pow(10, 4 * formula_uniform(name + "'s size", sizes));
}

struct step_of_leaves {
  parameter_layout layout;
  std::vector<std::vector<at::Tensor>> gradients;  ///< [leaf][parameter]
};

step_of_leaves drawn_step(std::uint64_t leaves, const std::vector<std::vector<std::int64_t>>& shapes) {
  named_tensors parameters;
  for (std::size_t index = 0; index < shapes.size(); ++index) {
    parameters.set("p" + std::to_string(index), at::zeros(shapes[index]));
  }
  step_of_leaves made{.layout = parameter_layout::make(parameters, {}, {}).value()};
  for (std::uint64_t leaf = 0; leaf < leaves; ++leaf) {
    std::vector<at::Tensor> all;
    for (std::size_t index = 0; index < shapes.size(); ++index) {
      all.push_back(uneven(std::to_string(leaf) + "/" + std::to_string(index), shapes[index]));
    }
    made.gradients.push_back(std::move(all));
  }
  return made;
}

/// The definition, by PyTorch's addition: the node over `count` leaves from `first` on. Undefined where there are none.
at::Tensor node(const step_of_leaves& step, std::size_t parameter, std::uint64_t first, std::uint64_t count) {
  if (first >= step.gradients.size()) return {};
  if (count == 1) return step.gradients[first][parameter];
  const at::Tensor lower = node(step, parameter, first, count / 2);
  const at::Tensor upper = node(step, parameter, first + count / 2, count / 2);
  return upper.defined() ? at::add(lower, upper) : lower;
}

std::vector<std::byte> sum_over(const step_of_leaves& step, std::uint64_t replicas) {
  const step_layout order{.leaves = step.gradients.size(), .replicas = replicas};
  std::vector<gradient_tree> trees(replicas, gradient_tree(step.layout));
  for (std::uint64_t index = 0; index < order.indices(); ++index) {
    const auto leaf = order.leaf_of(index);
    if (leaf) trees[index % replicas].add(*leaf, {.call = 0, .index = index}, step.gradients[*leaf]);
  }
  std::vector<const std::byte*> sums;
  for (gradient_tree& each : trees) {
    const at::Tensor& sum = each.sum();
    sums.push_back(sum.defined() ? static_cast<const std::byte*>(sum.const_data_ptr()) : nullptr);
  }
  std::vector<std::byte> gradient(step.layout.section_bytes());
  const std::vector<std::byte> weights(step.layout.section_bytes());
  finish_blocks(step.layout, blocks_of(step.layout.parameters()), own_sums(step.layout, sums), gradient.data(),
                weights.data());
  return gradient;
}

bool is_at(const std::vector<std::byte>& sum, const stored_tensor& parameter, const at::Tensor& expected) {
  const at::Tensor values = expected.contiguous();
  return std::memcmp(sum.data() + parameter.offset, values.const_data_ptr(), parameter.bytes()) == 0;
}

TEST(gradient_tree, equals_its_definition_for_each_number_of_replicas) {
  seeded_draw draw(50);
  int differs_from_a_row = 0;
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t leaves = 1 + draw.below(40);
    const std::vector<std::vector<std::int64_t>> shapes = {{static_cast<std::int64_t>(1 + draw.below(300))}, {3, 5}};
    const step_of_leaves step = drawn_step(leaves, shapes);
    for (const std::uint64_t replicas : {1, 2, 4, 8}) {
      const std::vector<std::byte> sum = sum_over(step, replicas);
      for (std::size_t index = 0; index < shapes.size(); ++index) {
        const at::Tensor expected = node(step, index, 0, std::bit_ceil(leaves));
        EXPECT_TRUE(is_at(sum, step.layout.parameters()[index], expected)) << leaves << " leaves, " << replicas;
      }
    }
    at::Tensor row = step.gradients[0][0];
    for (std::uint64_t leaf = 1; leaf < leaves; ++leaf) row = at::add(row, step.gradients[leaf][0]);
    if (!at::equal(row, node(step, 0, 0, std::bit_ceil(leaves)))) ++differs_from_a_row;
  }
  EXPECT_GT(differs_from_a_row, 40) << "or the test could not see a wrong order";
}

TEST(gradient_tree, leaves_out_what_is_missing_anywhere) {
  const step_of_leaves step = drawn_step(16, {{33}});
  seeded_draw draw(51);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t present = 1 + draw.below(0xffff);
    gradient_tree tree(step.layout);
    const std::function<at::Tensor(std::uint64_t, std::uint64_t)> expected = [&](std::uint64_t first,
                                                                                 std::uint64_t count) -> at::Tensor {
      if (count == 1) return (present >> first) % 2 == 1 ? step.gradients[first][0] : at::Tensor();
      const at::Tensor lower = expected(first, count / 2);
      const at::Tensor upper = expected(first + count / 2, count / 2);
      return lower.defined() && upper.defined() ? at::add(lower, upper) : lower.defined() ? lower : upper;
    };
    for (std::uint64_t leaf = 0; leaf < 16; ++leaf) {
      if ((present >> leaf) % 2 == 1) tree.add(leaf, {}, step.gradients[leaf]);
    }
    const at::Tensor values = expected(0, 16).contiguous();
    EXPECT_EQ(std::memcmp(tree.sum().const_data_ptr(), values.const_data_ptr(), values.nbytes()), 0) << present;
  }
}

TEST(gradient_tree, an_undefined_gradient_is_zero_and_strides_do_not_count) {
  const step_of_leaves step = drawn_step(2, {{4, 3}, {2}});
  gradient_tree tree(step.layout);
  tree.add(0, {}, std::vector<at::Tensor>{step.gradients[0][0], at::Tensor()});
  tree.add(1, {}, std::vector<at::Tensor>{step.gradients[1][0].t().contiguous().t(), step.gradients[1][1]});
  const std::vector<std::byte> sum = [&] {
    const auto* const begin = static_cast<const std::byte*>(tree.sum().const_data_ptr());
    return std::vector<std::byte>(begin, begin + step.layout.section_bytes());
  }();
  EXPECT_TRUE(is_at(sum, step.layout.parameters()[0], at::add(step.gradients[0][0], step.gradients[1][0])));
  EXPECT_TRUE(is_at(sum, step.layout.parameters()[1], step.gradients[1][1]));
}

TEST(gradient_tree, names_where_a_sum_stops_being_finite) {
  step_of_leaves step = drawn_step(6, {{5}, {70000}});
  step.gradients[3][1][69999] = std::numeric_limits<float>::quiet_NaN();
  step.gradients[4][0][0] = std::numeric_limits<float>::infinity();
  gradient_tree tree(step.layout);
  for (std::uint64_t leaf = 0; leaf < 6; ++leaf) {
    EXPECT_EQ(tree.not_finite().has_value(), leaf > 3);
    tree.add(leaf, {.call = 7, .index = leaf}, step.gradients[leaf]);
  }
  EXPECT_EQ(tree.not_finite()->sum, 1U);
  EXPECT_EQ(tree.not_finite()->id, (micro_batch_id{.call = 7, .index = 3}));
  tree.clear();
  EXPECT_FALSE(tree.not_finite());
  for (const std::uint64_t leaf : {0, 1}) {
    tree.add(leaf, {.call = 8, .index = leaf}, std::vector<at::Tensor>{at::full({5}, 3e38F), at::zeros({70000})});
  }
  EXPECT_EQ(tree.not_finite()->id, (micro_batch_id{.call = 8, .index = 1})) << "the sum overflows there";
}

}  // namespace
}  // namespace troupe
