#include <cmath>
#include <cstring>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/seeded_draw.hpp"
#include "runtime/kernel/update_kernels.hpp"
#include "runtime/optimizer/trained_parameters.hpp"
#include "tests/runtime/optimizer/recorded_updates.hpp"

namespace troupe {
namespace {

using testing::recorded_update;
using testing::recorded_updates;

at::Tensor tensor_of(const std::vector<float>& from) {
  return at::from_blob(const_cast<float*>(from.data()), {static_cast<std::int64_t>(from.size())}).clone();
}

/// PyTorch's weights of Adam may differ in the last places: its square root is that of MKL, which does not always round
/// to the nearest number, while ours does.
bool is_bit_equal(const at::Tensor& made, const std::vector<float>& expected) {
  return std::memcmp(made.const_data_ptr(), expected.data(), expected.size() * sizeof(float)) == 0;
}

/// The largest difference, relative to the largest size that the weight had before and after the steps.
double difference(const at::Tensor& made, std::span<const recorded_update::state> states) {
  double largest = 0;
  for (std::size_t index = 0; index < states.back().weights.size(); ++index) {
    const float one = made.const_data_ptr<float>()[index];
    const float other = states.back().weights[index];
    if (one == other) continue;
    float scale = 0;
    for (const recorded_update::state& each : states) scale = std::max(scale, std::abs(each.weights[index]));
    largest = std::max(largest, std::abs(static_cast<double>(one) - other) / scale);
  }
  return largest;
}

class torch_updates : public ::testing::Test {
 protected:
  const recorded_updates recorded_ = testing::read_recorded_updates();

  static std::unique_ptr<trained_parameters> begin(const recorded_update& of) {
    const named_tensors weights = {{"w", tensor_of(of.states[0].weights)}};
    const parameter_layout layout = parameter_layout::make(weights, {}, of.options).value();
    return trained_parameters::create(layout, weights, {}).value();
  }

  void update(trained_parameters& parameters, std::uint64_t step, double rate) const {
    parameters.add_gradient(0, {}, std::vector<at::Tensor>{tensor_of(recorded_.gradients[step])});
    step_vote vote;
    ASSERT_TRUE(parameters.finish(step, {}, {}, {}, vote));
    ASSERT_TRUE(parameters.apply({.call = step, .step = step, .learning_rate = rate}));
  }
};

TEST_F(torch_updates, one_step_from_each_recorded_state) {
  ASSERT_EQ(recorded_.cases.size(), 16U);
  for (const recorded_update& each : recorded_.cases) {
    const auto parameters = begin(each);
    for (std::uint64_t step = 0; step < recorded_.gradients.size(); ++step) {
      const recorded_update::state& before = each.states[step];
      const recorded_update::state& after = each.states[step + 1];
      std::vector<std::vector<at::Tensor>> kept;
      for (const auto& moment : before.moments) kept.push_back({tensor_of(moment)});
      ASSERT_TRUE(parameters->restore(std::vector<at::Tensor>{tensor_of(before.weights)}, kept, {}, step));
      update(*parameters, step, each.learning_rate);
      for (std::size_t moment = 0; moment < after.moments.size(); ++moment) {
        EXPECT_TRUE(is_bit_equal(parameters->moment(moment, 0), after.moments[moment])) << each.name << ", " << step;
      }
      if (each.options.kind == optimizer_kind::sgd) {
        EXPECT_TRUE(is_bit_equal(parameters->weight(0), after.weights)) << each.name << ", " << step;
      } else {
        EXPECT_LE(difference(parameters->weight(0), std::span(each.states).subspan(step, 2)), 3.5e-7) << each.name;
      }
    }
  }
}

TEST_F(torch_updates, twenty_steps_in_a_row) {
  for (const recorded_update& each : recorded_.cases) {
    const auto parameters = begin(each);
    for (std::uint64_t step = 0; step < recorded_.gradients.size(); ++step) {
      update(*parameters, step, each.learning_rate);
      EXPECT_LE(difference(parameters->weight(0), std::span(each.states).first(step + 2)), 1e-6)
          << each.name << ", " << step;
      if (each.options.kind == optimizer_kind::sgd) {
        EXPECT_TRUE(is_bit_equal(parameters->weight(0), each.states[step + 1].weights)) << each.name << ", " << step;
      }
    }
    EXPECT_EQ(parameters->step(), recorded_.gradients.size());
  }
}

template <class Number>
std::vector<Number> drawn(seeded_draw& draw, std::size_t count) {
  std::vector<Number> made;
  for (std::size_t i = 0; i < count; ++i) {
    const double size = std::pow(10.0, 20 * draw.share() - 10);
    made.push_back(static_cast<Number>((draw.share() - 0.5) * size));
  }
  return made;
}

/// All results of all kernels for arrays of `count` numbers, with the array cut after `cut` numbers.
template <class Number>
std::vector<std::vector<Number>> results_of(vector_width width, std::size_t count, std::size_t cut) {
  const update_kernels<Number>& kernels = update_kernels_of<Number>(width);
  seeded_draw draw(count);
  const std::vector<Number> gradient = drawn<Number>(draw, count);
  const std::vector<Number> weights = drawn<Number>(draw, count);
  std::vector<std::vector<Number>> moments;
  for (int moment = 0; moment < 3; ++moment) {
    moments.push_back(drawn<Number>(draw, count));
    for (Number& each : moments.back()) each = std::abs(each);
  }
  std::vector<std::vector<Number>> made;
  const auto run = [&](auto kernel, const auto& step, int moments_used) {
    std::vector<std::vector<Number>> results(4, std::vector<Number>(count));
    for (const auto& [first, last] : {std::pair(std::size_t{0}, cut), std::pair(cut, count)}) {
      update_arrays<Number> arrays{
          .gradient = &gradient[first], .weights = &weights[first], .new_weights = &results[3][first]};
      for (int moment = 0; moment < moments_used; ++moment) {
        arrays.moments[moment] = &moments[moment][first];
        arrays.new_moments[moment] = &results[moment][first];
      }
      kernel(step, arrays, static_cast<std::int64_t>(last - first));
    }
    made.insert(made.end(), results.begin(), results.end());
  };
  const sgd_step plain{.gradient_scale = 0.3, .learning_rate = 0.1, .weight_decay = 0.01};
  run(kernels.sgd, plain, 0);
  run(kernels.sgd, sgd_step{.gradient_scale = 0.3, .learning_rate = 0.1, .momentum = 0.9, .nesterov = true}, 1);
  run(kernels.adam, adam_step{.learning_rate = 0.1, .beta_1 = 0.9, .beta_2 = 0.99, .eps = 1e-8, .number = 3}, 2);
  run(kernels.adam,
      adam_step{.learning_rate = 0.1, .beta_1 = 0.3, .beta_2 = 0.99, .eps = 1e-8, .weight_decay = 0.1, .number = 3}, 3);
  std::vector<Number> sum = weights;
  EXPECT_TRUE(kernels.add(sum.data(), gradient.data(), static_cast<std::int64_t>(count)));
  made.push_back(sum);
  made.push_back({static_cast<Number>(kernels.squares(gradient.data(), static_cast<std::int64_t>(count)))});
  return made;
}

template <class Number>
void expect_equal_bits() {
  for (const std::size_t count : {1, 7, 8, 9, 31, 64, 1000}) {
    const auto expected = results_of<Number>(vector_width::portable, count, 0);
    for (const vector_width width : usable_vector_widths()) {
      for (const std::size_t cut : {count / 3, count}) {
        const auto made = results_of<Number>(width, count, cut);
        for (std::size_t each = 0; each < made.size(); ++each) {
          EXPECT_EQ(std::memcmp(made[each].data(), expected[each].data(), made[each].size() * sizeof(Number)), 0)
              << count << " numbers, result " << each;
        }
      }
    }
  }
}

TEST(update_kernels, bits_depend_neither_on_vectors_nor_on_cuts) {
  expect_equal_bits<float>();
  expect_equal_bits<double>();
}

TEST(update_kernels, doubles_are_updated_as_doubles) {
  const named_tensors weights = {{"w", at::linspace(-1, 1, 77, at::kDouble)}};
  const parameter_layout layout = parameter_layout::make(weights, {}, {.kind = optimizer_kind::adam}).value();
  const auto parameters = trained_parameters::create(layout, weights, {}).value();
  const at::Tensor gradient = at::linspace(0.5, 3, 77, at::kDouble);
  parameters->add_gradient(0, {}, std::vector<at::Tensor>{gradient});
  step_vote vote;
  ASSERT_TRUE(parameters->finish(0, {}, {}, {}, vote));
  ASSERT_TRUE(parameters->apply({.call = 0, .learning_rate = 0.125}));
  // the first step of Adam is the sign of the gradient
  const at::Tensor expected = weights["w"] - 0.125 * gradient / (gradient + 1e-8);
  EXPECT_TRUE(at::allclose(parameters->weight(0), expected, 0, 1e-15));
}

TEST(update_kernels, the_sum_of_squares_is_in_double) {
  const std::vector<float> numbers(100000, 1.1F);
  const double exact = 100000 * static_cast<double>(1.1F) * static_cast<double>(1.1F);
  EXPECT_NEAR(update_kernels_of<float>().squares(numbers.data(), 100000), exact, 1e-9 * exact);
}

}  // namespace
}  // namespace troupe
