// Goal: replicas that exchange their sums have the weights, buffers and loss of one replica, to the last bit. Method:
// bodies that are called by a loop in the order of docs/decisions/0045.
#include <gmock/gmock.h>

#include "runtime/ledger/step_layout.hpp"
#include "tests/runtime/training/plain_loop.hpp"
#include "tests/runtime/training/plain_pipeline.hpp"
#include "tests/runtime/training/trained_models.hpp"

namespace troupe::testing {
namespace {

/// One step of a stage alone with so many replicas; the values of a sample must not depend on its replica.
state_dict weights_after(const std::vector<layer_spec>& layers, const std::vector<plain_batch>& batches,
                         std::uint64_t replicas, double& loss) {
  const step_layout layout{.leaves = batches.size(), .replicas = replicas};
  std::vector<std::unique_ptr<autograd_body>> bodies;
  for (std::uint64_t each = 0; each < replicas; ++each)
    bodies.push_back(
        std::move(get(stages_of(layers, {}, {.replicas = static_cast<std::uint32_t>(replicas), .seed = 5})).front()));
  for (std::uint64_t index = 0; index < layout.indices(); ++index) {
    const auto leaf = layout.leaf_of(index);
    if (!leaf) continue;
    const plain_batch& batch = batches[*leaf];
    const activation given{.id = {0, index},
                           .samples = {10 * *leaf, 10 * *leaf + static_cast<std::uint64_t>(batch.inputs.size(0))},
                           .tensors = make_tensors(batch.inputs),
                           .labels = make_tensors(batch.labels)};
    activation made = given;
    must(bodies[index % replicas]->forward(given, made));
    must(bodies[index % replicas]->backward({0, index}, nullptr));
  }
  std::vector<payload_ptr> sums;
  for (const auto& body : bodies) sums.push_back(replicas == 1 ? nullptr : get(body->sum_of_gradients()));
  if (replicas == 1) sums.clear();
  std::vector<step_vote> votes(replicas);
  double weight = 0;
  for (std::uint64_t each = 0; each < replicas; ++each) {
    must(bodies[each]->finish(0, sums, {}, votes[each]));
    weight += votes[each].weight;
    EXPECT_EQ(votes[each].state_hash, votes[0].state_hash);
    EXPECT_EQ(votes[each].squared_norms, votes[0].squared_norms);
  }
  loss = weight;
  for (const auto& body : bodies) {
    must(body->apply({.call = 0, .gradient_scale = 1 / weight, .learning_rate = 0.1}));
    expect_equal(body->weights(), bodies.front()->weights());
  }
  state_dict copies;
  for (const named_tensor& each : bodies.front()->weights()) copies.push_back({each.name, each.tensor.clone()});
  return copies;
}

TEST(replicas, have_the_bits_of_one) {
  for (const std::vector<std::int64_t>& rows :
       std::vector<std::vector<std::int64_t>>{{3, 3, 2, 3, 1}, {2, 2}, {4, 2, 2, 2, 2, 2, 3}, {3}}) {
    double weight = 0;
    const auto pictures = picture_batches(3, 32, "replicas", rows);
    const state_dict one = weights_after(resnet20_layers(), pictures, 1, weight);
    for (const std::uint64_t replicas : {2, 4}) {
      double other = 0;
      expect_equal(weights_after(resnet20_layers(), pictures, replicas, other), one);
      EXPECT_EQ(other, weight);
    }
    const auto tokens = token_batches("replicas", rows);
    expect_equal(weights_after(gpt_layers(0.2), tokens, 4, weight), weights_after(gpt_layers(0.2), tokens, 1, weight));
  }
}

TEST(replicas, refuse_sums_of_another_form) {
  const auto body = std::move(get(stages_of(resnet20_layers(), {}, {.replicas = 2})).front());
  step_vote vote;
  const payload_ptr odd = make_tensors(at::zeros({3}));
  EXPECT_EQ(body->finish(0, std::vector<payload_ptr>{odd, nullptr}, {}, vote).error().code, error_code::wire_malformed);
  const auto wrong = [](const at::Tensor& table, const at::Tensor& values) {
    return std::vector<payload_ptr>{
        std::make_shared<const tensor_set>(std::vector<at::Tensor>{at::zeros({8}), table, values})};
  };
  const auto table = [](double buffer, double kind) {
    return at::tensor({kind, buffer, 0.1}, at::kDouble).view({1, 3});
  };
  for (const auto& sums :
       {wrong(table(-1, 1), at::zeros({16}, at::kDouble)), wrong(table(1e9, 1), at::zeros({16}, at::kDouble)),
        wrong(table(NAN, 1), at::zeros({16}, at::kDouble)), wrong(table(0, 1), at::zeros({15}, at::kDouble)),
        wrong(table(0, 1), at::zeros({17}, at::kDouble)), wrong(table(0, 3), at::zeros({16}, at::kDouble)),
        wrong(at::zeros({3, 2}), at::zeros({0}, at::kDouble))}) {
    EXPECT_EQ(body->finish(0, sums, {}, vote).error().code, error_code::wire_malformed);
  }
}

}  // namespace
}  // namespace troupe::testing
