#include "runtime/optimizer/trained_parameters.hpp"

#include <cmath>
#include <cstring>
#include <limits>

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
      of.finish(call, {}, {}, std::vector<at::Tensor>{at::full({}, static_cast<long>(call) + 10, at::kLong)}, vote));
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

/// Two replicas with a leaf each.
std::vector<step_vote> finish_both(std::vector<std::unique_ptr<trained_parameters>>& replicas,
                                   const std::vector<std::vector<at::Tensor>>& gradients) {
  std::vector<payload_ptr> sums;
  for (std::size_t each = 0; each < replicas.size(); ++each) {
    if (!gradients[each].empty()) replicas[each]->add_gradient(each, {.call = 0, .index = each}, gradients[each]);
    sums.push_back(replicas[each]->sum());
  }
  std::vector<step_vote> votes(replicas.size());
  for (std::size_t each = 0; each < replicas.size(); ++each) {
    EXPECT_TRUE(replicas[each]->finish(0, sums, {}, {}, votes[each]));
    EXPECT_TRUE(replicas[each]->apply({.call = 0, .gradient_scale = 0.5, .learning_rate = 0.1}));
  }
  return votes;
}

std::vector<std::unique_ptr<trained_parameters>> two_replicas() {
  std::vector<std::unique_ptr<trained_parameters>> replicas;
  replicas.push_back(made());
  replicas.push_back(made());
  return replicas;
}

TEST(trained_parameters, replicas_exchange_sums_and_stay_alike) {
  auto replicas = two_replicas();
  const auto votes = finish_both(replicas, {gradients_of("a"), gradients_of("b")});
  EXPECT_EQ(votes[0].state_hash, votes[1].state_hash);
  EXPECT_EQ(votes[0].squared_norms, votes[1].squared_norms);
  const auto alone = made();
  alone->add_gradient(0, {}, gradients_of("a"));
  alone->add_gradient(1, {}, gradients_of("b"));
  step_vote vote;
  ASSERT_TRUE(alone->finish(0, {}, {}, {}, vote));
  EXPECT_EQ(vote.state_hash, votes[0].state_hash);
  ASSERT_TRUE(alone->apply({.call = 0, .gradient_scale = 0.5, .learning_rate = 0.1}));
  for (const auto& each : replicas) EXPECT_TRUE(at::equal(each->weight(0), alone->weight(0)));
}

TEST(trained_parameters, a_replica_without_micro_batches_counts_as_nothing) {
  auto replicas = two_replicas();
  const auto votes = finish_both(replicas, {gradients_of("a"), {}});
  EXPECT_EQ(votes[0].state_hash, votes[1].state_hash);
  EXPECT_TRUE(at::equal(replicas[1]->gradient(0), gradients_of("a")[0]));
}

TEST(trained_parameters, a_flipped_bit_changes_the_hash_of_one_replica) {
  auto replicas = two_replicas();
  auto damaged = two_parameters()["weight"].clone();
  damaged[2][6] = std::nextafter(damaged[2][6].item<float>(), 10.0F);
  const std::vector<at::Tensor> weights = {damaged, two_parameters()["bias"]};
  ASSERT_TRUE(replicas[1]->restore(weights, {}, {}, 0));
  const auto votes = finish_both(replicas, {gradients_of("a"), gradients_of("b")});
  EXPECT_NE(votes[0].state_hash, votes[1].state_hash);
}

TEST(trained_parameters, names_parameter_and_micro_batch_of_what_is_not_finite) {
  auto replicas = two_replicas();
  std::vector<at::Tensor> odd = gradients_of("b");
  odd[1][2] = std::numeric_limits<float>::infinity();
  const auto votes = finish_both(replicas, {gradients_of("a"), odd});
  ASSERT_TRUE(votes[0].not_finite && votes[1].not_finite);
  EXPECT_THAT(to_string(*votes[1].not_finite), HasSubstr("E0619: call 0, micro-batch 1, parameter bias"));
  EXPECT_THAT(to_string(*votes[0].not_finite), HasSubstr("sum over the replicas, parameter bias"));
}

TEST(trained_parameters, a_sum_of_another_layout_is_an_error) {
  const auto parameters = made();
  parameters->add_gradient(0, {}, gradients_of("a"));
  step_vote vote;
  for (const at::Tensor& wrong :
       {at::zeros({5}, at::kByte), at::zeros({192}), at::zeros({384}, at::kByte).slice(0, 0, 384, 2)}) {
    const auto done =
        parameters->finish(0, std::vector<payload_ptr>{parameters->sum(), make_tensors(wrong)}, {}, {}, vote);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, error_code::wire_malformed);
  }
}

TEST(optimizer_options, have_the_values_that_torch_allows) {
  const auto message = [](const optimizer_options& options) {
    const auto made = parameter_layout::make(two_parameters(), {}, options);
    return made ? std::string("none") : to_string(made.error());
  };
  EXPECT_EQ(message({.momentum = 0.9, .nesterov = true}), "none");
  EXPECT_THAT(message({.nesterov = true}), HasSubstr("E0103: optimizer, option nesterov: it needs momentum"));
  EXPECT_THAT(message({.momentum = 0.9, .dampening = 0.1, .nesterov = true}), HasSubstr("option nesterov"));
  EXPECT_THAT(message({.weight_decay = -1}), HasSubstr("option weight_decay: -1.000000, expected a number that is"));
  EXPECT_THAT(message({.momentum = std::nan("")}), HasSubstr("option momentum"));
  EXPECT_THAT(message({.kind = optimizer_kind::adam, .beta_1 = 1}), HasSubstr("option beta_1"));
  EXPECT_THAT(message({.kind = optimizer_kind::adamw, .beta_2 = 1.5}), HasSubstr("from 0 to below 1"));
  EXPECT_THAT(message({.kind = optimizer_kind::adamw, .eps = -1e-8}), HasSubstr("option eps"));
}

TEST(parameter_layout, refuses_what_cannot_be_trained) {
  const auto message = [](const named_tensors& parameters) {
    const auto made = parameter_layout::make(parameters, {}, {});
    return made ? std::string("none") : to_string(made.error());
  };
  EXPECT_THAT(message({{"w", at::zeros({2}, at::kHalf)}}), HasSubstr("E0217: parameter w: it is of type Half"));
  EXPECT_THAT(message({{"w", at::zeros({2})}, {"w", at::zeros({2})}}), HasSubstr("two have this name"));
  const at::Tensor huge = at::zeros({1}).expand({1LL << 50});
  EXPECT_THAT(message({{"w", huge}}), HasSubstr("more than 4 TiB"));
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
