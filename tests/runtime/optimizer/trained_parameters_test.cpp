#include "runtime/optimizer/trained_parameters.hpp"

#include <cstring>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/os/shared_memory.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "tests/support/formula_tensors.hpp"

namespace troupe {
namespace {

using testing::formula_uniform;
using ::testing::HasSubstr;

const optimizer_options with_momentum{.momentum = 0.5};

named_tensors two_parameters() {
  return {{"weight", formula_uniform("weight", {3, 7})}, {"bias", formula_uniform("bias", {3})}};
}
named_tensors one_buffer() {
  return {{"count", at::full({}, 4, at::kLong)}};
}
parameter_layout small_layout() {
  return parameter_layout::make(two_parameters(), one_buffer(), with_momentum).value();
}
std::vector<at::Tensor> gradients_of(const std::string& name) {
  return {formula_uniform(name + "w", {3, 7}), formula_uniform(name + "b", {3})};
}

std::unique_ptr<trained_parameters> made(std::span<std::byte> memory = {}) {
  return trained_parameters::create(small_layout(), two_parameters(), one_buffer(), memory).value();
}

step_vote finish(trained_parameters& of, call_number call) {
  of.add_gradient(0, {.call = call, .index = 0}, gradients_of(std::to_string(call)));
  step_vote vote;
  EXPECT_TRUE(
      of.finish(call, {}, std::vector<at::Tensor>{at::full({}, static_cast<long>(call) + 10, at::kLong)}, vote));
  return vote;
}

memory_mapping mapped(std::uint64_t bytes) {
  return shared_memory::create("test", bytes).value().map(0, bytes).value();
}

TEST(trained_parameters, a_step_of_sgd) {
  const auto parameters = made();
  EXPECT_TRUE(at::equal(parameters->weight(0), two_parameters()["weight"]));
  const step_vote vote = finish(*parameters, 3);
  const at::Tensor gradient = gradients_of("3")[0];
  ASSERT_EQ(vote.squared_norms.size(), 2U);
  EXPECT_NEAR(vote.squared_norms[0], gradient.to(at::kDouble).square().sum().item<double>(), 1e-12);
  EXPECT_FALSE(vote.not_finite);
  EXPECT_EQ(parameters->finished_call(), 3U);
  EXPECT_EQ(parameters->buffer(0).item<long>(), 4) << "not before the decision";
  ASSERT_TRUE(parameters->apply({.call = 3, .step = 0, .gradient_scale = 0.5, .learning_rate = 0.25}));
  EXPECT_TRUE(at::equal(parameters->weight(0), at::sub(two_parameters()["weight"], gradient * 0.5, 0.25)));
  EXPECT_TRUE(at::equal(parameters->moment(0, 0), gradient * 0.5));
  EXPECT_EQ(parameters->buffer(0).item<long>(), 13);
  EXPECT_EQ(parameters->step(), 1U);
  EXPECT_EQ(parameters->decided_call(), 3U);
  EXPECT_EQ(parameters->finished_call(), std::nullopt);
}

TEST(trained_parameters, decisions_are_carried_out_once_and_with_their_gradient) {
  const auto parameters = made();
  finish(*parameters, 0);
  const step_decision decision{.call = 0, .learning_rate = 0.1};
  ASSERT_TRUE(parameters->apply(decision));
  const at::Tensor after = parameters->weight(0).clone();
  ASSERT_TRUE(parameters->apply(decision));
  EXPECT_TRUE(at::equal(parameters->weight(0), after));
  const auto late = parameters->apply({.call = 1, .step = 1});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, error_code::training_state_lost);
}

TEST(trained_parameters, a_skipped_step_changes_nothing) {
  const auto parameters = made();
  finish(*parameters, 0);
  ASSERT_TRUE(parameters->apply({.call = 0, .is_applied = false, .learning_rate = 0.1}));
  EXPECT_TRUE(at::equal(parameters->weight(0), two_parameters()["weight"]));
  EXPECT_EQ(parameters->buffer(0).item<long>(), 4);
  EXPECT_EQ(parameters->step(), 0U);
  EXPECT_EQ(parameters->decided_call(), 0U);
  EXPECT_EQ(parameters->finished_call(), std::nullopt);
}

TEST(trained_parameters, adopted_memory_goes_on_with_the_finished_gradient) {
  const memory_mapping pages = mapped(small_layout().bytes());
  auto first = made(pages.bytes());
  finish(*first, 0);
  ASSERT_TRUE(first->apply({.call = 0, .learning_rate = 0.1}));
  finish(*first, 1);
  first.reset();
  const auto second = trained_parameters::adopt(small_layout(), pages.bytes()).value();
  EXPECT_EQ(second->step(), 1U);
  EXPECT_EQ(second->finished_call(), 1U);
  ASSERT_TRUE(second->apply({.call = 1, .step = 1, .learning_rate = 0.1}));

  const auto undisturbed = made();
  for (const call_number call : {0, 1}) {
    finish(*undisturbed, call);
    ASSERT_TRUE(undisturbed->apply({.call = call, .step = call, .learning_rate = 0.1}));
  }
  for (const std::size_t each : {0, 1}) {
    EXPECT_TRUE(at::equal(second->weight(each), undisturbed->weight(each)));
    EXPECT_TRUE(at::equal(second->moment(0, each), undisturbed->moment(0, each)));
  }
}

TEST(trained_parameters, other_memory_is_not_adopted) {
  const memory_mapping pages = mapped(2 * small_layout().bytes());
  const auto found = [&](const parameter_layout& layout, std::span<std::byte> memory) {
    const auto adopted = trained_parameters::adopt(layout, memory);
    return adopted ? std::string("adopted") : to_string(adopted.error());
  };
  EXPECT_THAT(found(small_layout(), pages.bytes()), HasSubstr("E0620: memory of the weights: it holds no weights"));
  { const auto left = made(pages.bytes()); }
  EXPECT_EQ(found(small_layout(), pages.bytes()), "adopted");
  EXPECT_THAT(found(small_layout(), pages.bytes().first(4096)), HasSubstr("E0620"));
  const auto adam = parameter_layout::make(two_parameters(), one_buffer(), {.kind = optimizer_kind::adam}).value();
  EXPECT_THAT(found(adam, pages.bytes()), HasSubstr("for another optimizer"));
  named_tensors others = two_parameters();
  others.set("bias", at::zeros({4}));
  const auto other = parameter_layout::make(others, one_buffer(), with_momentum).value();
  EXPECT_THAT(found(other, pages.bytes()), HasSubstr("the weights of other layers"));
}

TEST(trained_parameters, a_write_outside_of_a_step_is_stopped) {
  const memory_mapping pages = mapped(small_layout().bytes());
  const auto parameters = made(pages.bytes());
  const at::Tensor first = parameters->weight(0);
  EXPECT_DEATH(first.mutable_data_ptr<float>()[0] = 1, "");
  finish(*parameters, 0);
  EXPECT_DEATH(parameters->gradient(0).mutable_data_ptr<float>()[0] = 1, "");
  ASSERT_TRUE(parameters->apply({.call = 0, .learning_rate = 0.1}));
  EXPECT_DEATH(first.mutable_data_ptr<float>()[0] = 1, "") << "also the version before";
  EXPECT_DEATH(parameters->weight(0).mutable_data_ptr<float>()[0] = 1, "");
  EXPECT_DEATH(parameters->buffer(0).mutable_data_ptr<long>()[0] = 1, "");
}

}  // namespace
}  // namespace troupe
