// Goal: a weight that several layers use is trained as one, with the same bits wherever the model is cut, and every
// stage that has it keeps an equal copy. Method: bodies that are called by a loop, cut at each place; the gradient is
// compared with PyTorch's, from modules of their own for each place, added in the order of docs/decisions/0047.
#include <gmock/gmock.h>

#include "tests/runtime/training/plain_loop.hpp"
#include "tests/runtime/training/plain_pipeline.hpp"
#include "tests/runtime/training/trained_models.hpp"

namespace troupe::testing {
namespace {

const std::vector<std::vector<std::size_t>> mlp_cuts = {{}, {3}, {5}, {3, 5}, {1, 3, 4, 7}, {2, 4, 6}};

struct trained {
  state_dict weights;
  state_dict moments;
  double loss = 0;
};

trained after_steps(plain_pipeline run, const std::function<std::vector<plain_batch>(int)>& batches) {
  trained made;
  run.send_bytes();
  for (int step = 0; step < 3; ++step) made.loss = get(run.step(batches(step), 0.05));
  made.weights = run.weights();
  made.moments = run.moments();
  return made;
}

void expect_same(const trained& found, const trained& wanted) {
  EXPECT_EQ(found.loss, wanted.loss);
  expect_equal(found.weights, wanted.weights);
  expect_equal(found.moments, wanted.moments);
}

TEST(ties, have_the_same_bits_for_every_cut_and_recomputation) {
  const training_body_options how{.optimizer = {.kind = optimizer_kind::adamw, .weight_decay = 0.01}, .seed = 3};
  const auto rows = [](int step) { return row_batches("ties." + std::to_string(step), {3, 4, 1, 2, 4}); };
  const trained whole = after_steps(pipeline_of(tied_mlp_layers(), {}, how), rows);
  for (const std::vector<std::size_t>& cuts : mlp_cuts) {
    for (const std::uint32_t interval : {0, 1, 2}) {
      training_body_options again = how;
      again.recompute_interval = interval;
      expect_same(after_steps(pipeline_of(tied_mlp_layers(), cuts, again), rows), whole);
    }
  }
  const auto tokens = [](int step) { return token_batches("ties." + std::to_string(step), {2, 3, 2}); };
  const auto layers = tied_gpt_layers(0.2, false);
  const trained gpt = after_steps(pipeline_of(layers, {}, how), tokens);
  for (const std::vector<std::size_t>& cuts : std::vector<std::vector<std::size_t>>{{1}, {4}, {2, 4}, {1, 2, 3, 4}})
    expect_same(after_steps(pipeline_of(layers, cuts, how), tokens), gpt);
}

/// Of the whole step, by name, from three modules that begin alike.
state_dict separate_gradients(const std::vector<plain_batch>& batches) {
  std::vector<layer_spec> layers = tied_mlp_layers();
  for (const std::size_t place : {2, 4, 6}) {
    layers[place] = layer_spec("Linear", [] {
      torch::nn::Linear made(16, 16);
      fill_by_formula(made, "2.");
      return made;
    });
  }
  plain_loop loop(layers, at::kFloat);
  std::vector<std::pair<std::uint64_t, state_dict>> sums;
  const auto join = [&] {
    auto& [leaves, lower] = sums[sums.size() - 2];
    for (std::size_t at = 0; at < lower.size(); ++at)
      lower[at].tensor = lower[at].tensor + sums.back().second[at].tensor;
    leaves += sums.back().first;
    sums.pop_back();
  };
  for (const plain_batch& each : batches) {
    sums.emplace_back(1, loop.sum_gradients(each));
    while (sums.size() > 1 && sums.back().first == sums[sums.size() - 2].first) join();
  }
  while (sums.size() > 1) join();
  return sums.front().second;
}

at::Tensor named(const state_dict& all, const std::string& name) {
  for (const named_tensor& each : all) {
    if (each.name == name) return each.tensor;
  }
  throw std::out_of_range(name);
}

TEST(ties, add_the_sums_of_their_places_in_order) {
  const auto batches = row_batches("places", {3, 4, 1, 2, 4});
  const state_dict separate = separate_gradients(batches);
  for (const std::vector<std::size_t>& cuts : mlp_cuts) {
    plain_pipeline run = pipeline_of(tied_mlp_layers(), cuts, {});
    must(run.passes(batches));
    const auto votes = get(run.finish());
    std::vector<double> norms;
    int copies = 0;
    for (std::size_t stage = 0; stage < votes.size(); ++stage) {
      const autograd_body& body = *run.stages()[stage];
      std::size_t at = 0;
      for (const auto& [name, tensor] : body.part().parameters()) {
        at::Tensor wanted = named(separate, name);
        if (name.starts_with("2.")) {
          const std::string key = name.substr(2);
          wanted = wanted + named(separate, "4." + key) + named(separate, "6." + key);
          ++copies;
        }
        EXPECT_TRUE(at::equal(body.state().gradient(at), wanted)) << name << " in stage " << stage;
        if (body.part().is_copy(name)) EXPECT_EQ(votes[stage].squared_norms[at], 0);
        norms.push_back(votes[stage].squared_norms[at++]);
      }
    }
    EXPECT_GE(copies, 2);
    EXPECT_EQ(std::ranges::count_if(norms, [](double each) { return each > 0; }), 6) << "each weight counts once";
  }
}

TEST(ties, begin_with_one_draw_in_all_stages) {
  const std::vector<layer_spec> layers = tied_gpt_layers(0, false);
  const auto all = get(stages_of(layers, {1, 4}, {.seed = 9}));
  const auto whole = get(stages_of(layers, {}, {.seed = 9}));
  const auto weight_of = [](const autograd_body& body) {
    std::size_t at = 0;
    for (const auto& [name, tensor] : body.part().parameters()) {
      if (name == "0.tokens.weight") return body.state().weight(at);
      ++at;
    }
    throw std::out_of_range("it has no copy");
  };
  EXPECT_TRUE(at::equal(weight_of(*all.front()), weight_of(*whole.front())));
  EXPECT_TRUE(at::equal(weight_of(*all.back()), weight_of(*whole.front())));
  EXPECT_EQ(all.back()->weights().size(), 0u) << "the first stage saves it";
  EXPECT_EQ(all.front()->weights().size(), 2u);
}

TEST(ties, refuse_what_is_missing_twice_or_of_another_size) {
  plain_pipeline run = pipeline_of(tied_mlp_layers(), {3, 5}, {});
  must(run.passes(row_batches("refused", {3})));
  const std::vector<payload_ptr> sums = get(run.tied_sums());
  autograd_body& first = *run.stages().front();
  const auto code_of = [&](const std::vector<payload_ptr>& tied) {
    step_vote vote;
    const auto done = first.finish(0, {}, tied, vote);
    return done ? std::string("fine") : done.error().cause;
  };
  const std::vector<at::Tensor>& good = as_tensors(sums[1]).tensors();
  const auto with = [](std::vector<at::Tensor> tensors) {
    return std::make_shared<const tensor_set>(std::move(tensors));
  };
  EXPECT_EQ(code_of({}), "that of \"2.weight\" in layer 4 is missing");
  EXPECT_EQ(code_of({sums[1]}), "that of \"2.weight\" in layer 6 is missing");
  EXPECT_EQ(code_of({sums[1], sums[2], sums[2]}), "that of layer 6 comes from two stages");
  EXPECT_EQ(code_of({with({good[0].slice(0, 0, 64), good[1]}), sums[2]}), "the sum of layer 4 has another size");
  EXPECT_EQ(code_of({with({good[0], good[1] + 1}), sums[2]}), "that of \"2.weight\" in layer 4 is missing");
  at::Tensor far = good[1].clone();
  far.select(1, 2).fill_(-64);
  EXPECT_EQ(code_of({with({good[0], far}), sums[2]}), "the sum of layer 4 has another size");
  EXPECT_EQ(code_of({with({good[0], at::cat({good[1], good[1]})}), sums[2]}), "the sum of layer 4 comes twice");
  EXPECT_EQ(code_of({with({good[0]}), sums[2]}), "it is not bytes and a table");
  EXPECT_EQ(code_of({with({good[0], good[1].slice(1, 0, 2).contiguous()}), sums[2]}), "it is not bytes and a table");
  EXPECT_EQ(code_of({with({good[0].to(at::kFloat), good[1]}), sums[2]}), "it is not bytes and a table");
  EXPECT_EQ(code_of({sums[1], sums[2]}), "fine");
}

/// A gradient that is not finite is named by the stage where it came from; the stages with copies say nothing else.
TEST(ties, name_a_gradient_that_is_not_finite_once) {
  plain_pipeline run = pipeline_of(tied_mlp_layers(), {3, 5}, {});
  auto batches = row_batches("odd", {3});
  batches.front().inputs.fill_(std::numeric_limits<float>::infinity());
  must(run.passes(batches));
  const auto votes = get(run.finish());
  for (const step_vote& each : votes) EXPECT_FALSE(std::isfinite(each.squared_norms.front()));
}

}  // namespace
}  // namespace troupe::testing
