#include <algorithm>

#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/bind_inputs.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/graph/layered_graph.hpp"
#include "runtime/model/check_ids.hpp"
#include "tests/runtime/architecture/recorded_architecture.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct recorded {
  explicit recorded(const std::string& name)
      : json(read_recorded_json(name)), weights(formula_weights(json["weights"])) {
    at::set_num_threads(1);
  }

  [[nodiscard]] operator_graph bound(const std::set<std::string>& given,
                                     const std::optional<sentence_embedding>& embedding = std::nullopt) const {
    auto model = build(json["config"], weights, true, embedding);
    if (!model) throw std::runtime_error(to_string(model.error()));
    bind_inputs(*model, given);
    return std::move(*model);
  }

  nlohmann::json json;
  state_dict weights;
};

std::vector<at::Tensor> run(const operator_graph& model, const std::vector<at::Tensor>& in) {
  const c10::InferenceMode inference;
  const live_values live(model);
  return graph_code(make_part(model, live, 0, live.steps())).run(in);
}

std::vector<std::string> titles(const layered_graph& layers) {
  std::vector<std::string> all;
  for (const graph_layer& each : layers.layers()) all.push_back(title_of(each));
  return all;
}

TEST(configured_layers, are_those_of_transformers) {
  const layered_graph bert(recorded("bert_base").bound({"attention_mask"}), layer_unit::modules);
  EXPECT_THAT(titles(bert),
              ElementsAre("embeddings BertEmbeddings", "encoder.layer.0 BertLayer", "encoder.layer.1 BertLayer",
                          "pooler.select select", "pooler.dense Linear", "pooler.tanh tanh"));
  const layered_graph gpt2(recorded("gpt2_head").bound({}), layer_unit::modules);
  EXPECT_THAT(titles(gpt2), Contains("transformer.h.1 GPT2Block"));
  const layered_graph llama(recorded("llama_head").bound({}), layer_unit::modules);
  EXPECT_THAT(titles(llama), ElementsAre("model.embed_tokens Embedding", "model.rotary_emb LlamaRotaryEmbedding",
                                         "model.layers.0 LlamaDecoderLayer", "model.layers.1 LlamaDecoderLayer",
                                         "model.norm LlamaRMSNorm", "lm_head Linear"));
}

/// Beside [N, S, hidden]: nothing, or tensors that are small against it.
TEST(configured_layers, hand_on_little_beside_hidden_states) {
  const auto crossing = [](const char* name, const std::set<std::string>& given, std::size_t layer) {
    return layered_graph(recorded(name).bound(given), layer_unit::modules).crossing(layer).size();
  };
  EXPECT_EQ(crossing("bert_base", {}, 2), 1);
  EXPECT_EQ(crossing("bert_base", {"attention_mask"}, 2), 2) << "scores of the mask, [N, 1, 1, S]";
  EXPECT_EQ(crossing("gpt2_base", {}, 3), 1);
  EXPECT_EQ(crossing("gpt2_base", {"attention_mask"}, 3), 2) << "the mask, [N, S]";
  EXPECT_EQ(crossing("llama_base", {}, 3), 3) << "sine and cosine, [S, size / 2]";
  EXPECT_EQ(crossing("llama_base", {"attention_mask"}, 3), 4);
}

void expect_mean(const recorded& model, bool is_normalized) {
  const nlohmann::json& one = model.json["cases"]["right"];
  const at::Tensor mask = tensor_of(one["inputs"]["attention_mask"]);
  const operator_graph graph = model.bound({"attention_mask"}, sentence_embedding{.is_normalized = is_normalized});
  EXPECT_THAT(graph.outputs, Contains("last_hidden_state"));
  EXPECT_EQ(graph.outputs.back(), "sentence_embedding");
  const at::Tensor out = run(graph, {tensor_of(one["inputs"]["input_ids"]), mask}).back();
  const at::Tensor hidden = output_of(one["outputs"]["last_hidden_state"]);
  for (std::int64_t row = 0; row < hidden.size(0); ++row) {
    const at::Tensor kept = hidden[row].index({mask[row].eq(1)}).to(at::kDouble);
    at::Tensor mean = kept.sum(0) / kept.size(0);
    if (is_normalized) mean = mean / mean.square().sum().sqrt();
    EXPECT_LE((out[row] - mean).abs().max().item<double>(), 1e-5);
  }
}

TEST(sentence_embeddings, are_means_over_the_tokens_that_the_mask_keeps) {
  for (const char* name : {"bert_base", "roberta_base", "distilbert_base", "qwen2_base"}) {
    SCOPED_TRACE(name);
    expect_mean(recorded(name), false);
    expect_mean(recorded(name), true);
  }
}

TEST(sentence_embeddings, are_means_over_all_tokens_without_a_mask_or_the_first_token) {
  const recorded model("bert_base");
  const nlohmann::json& one = model.json["cases"]["none"];
  const std::vector<at::Tensor> in{tensor_of(one["inputs"]["input_ids"])};
  const at::Tensor hidden = output_of(one["outputs"]["last_hidden_state"]);
  const at::Tensor mean = run(model.bound({}, sentence_embedding()), in).back();
  EXPECT_LE((mean - hidden.to(at::kDouble).mean(1)).abs().max().item<double>(), 1e-5);
  const at::Tensor first = run(model.bound({}, sentence_embedding{.from_first_token = true}), in).back();
  EXPECT_LE((first - hidden.select(1, 0)).abs().max().item<double>(), 1e-5);
}

TEST(sentence_embeddings, need_hidden_states) {
  const recorded model("llama_head");
  const auto refused = build(model.json["config"], model.weights, true, sentence_embedding());
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), AllOf(HasSubstr("E0219"), HasSubstr("LlamaForCausalLM has no last_hidden")));
}

void rename(state_dict& weights, const std::string& from, const std::string& to) {
  for (named_tensor& each : weights) {
    const auto at = each.name.find(from);
    if (at != std::string::npos) each.name.replace(at, from.size(), to);
  }
}

TEST(published_files, have_old_names_and_more_than_the_class) {
  recorded bert("bert_base");
  rename(bert.weights, "LayerNorm.weight", "LayerNorm.gamma");
  rename(bert.weights, "LayerNorm.bias", "LayerNorm.beta");
  for (named_tensor& each : bert.weights) each.name = "bert." + each.name;
  bert.weights.push_back({"bert.embeddings.position_ids", at::arange(11).unsqueeze(0)});
  bert.weights.push_back({"cls.predictions.bias", at::zeros({31})});
  bert.weights.push_back({"cls.seq_relationship.weight", at::zeros({2, 12})});
  EXPECT_EQ(bert.bound({}).outputs.size(), 2);
  recorded masked("bert_masked");
  rename(masked.weights, "cls.predictions.bias", "cls.predictions.decoder.bias");
  masked.weights.push_back({"cls.predictions.decoder.weight", at::zeros({31, 12})});
  masked.weights.push_back({"bert.pooler.dense.weight", at::zeros({12, 12})});
  EXPECT_EQ(masked.bound({}).outputs.size(), 1);
  recorded gpt2("gpt2_head");
  rename(gpt2.weights, "transformer.", "");
  gpt2.weights.push_back({"h.0.attn.bias", at::ones({1, 1, 9, 9})});
  gpt2.weights.push_back({"h.0.attn.masked_bias", at::ones({})});
  EXPECT_EQ(gpt2.bound({}).outputs.size(), 1);
  recorded llama("llama_base");
  for (named_tensor& each : llama.weights) each.name = "model." + each.name;
  llama.weights.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", at::ones({3})});
  llama.weights.push_back({"lm_head.weight", at::ones({29, 16})});
  EXPECT_EQ(llama.bound({}).outputs.size(), 1);
}

TEST(published_files, may_lack_the_pooler) {
  recorded bert("bert_base");
  std::erase_if(bert.weights, [](const named_tensor& each) { return each.name.starts_with("pooler."); });
  EXPECT_THAT(bert.bound({}).outputs, ElementsAre("last_hidden_state"));
}

/// What an error says; "none" where the model takes the ids, and then it also runs on them.
std::string refusal(const std::string& input, const std::string& name, const at::Tensor& ids) {
  const operator_graph model = recorded(name).bound({input});
  const auto found = std::ranges::find(model.inputs, input, &graph_input::name);
  const auto taken = check_ids(*found, ids, "here");
  if (!taken) return to_string(taken.error());
  if (model.inputs.size() == 1) run(model, {ids});
  return "none";
}

TEST(long_sequences, are_refused_with_the_limit) {
  const auto length = [](std::int64_t size) { return at::full({1, size}, 5, at::kLong); };
  const auto tells = [](const char* found, const char* limit) {
    return AllOf(HasSubstr("E0209"), HasSubstr(std::string("\"input_ids\" has a sequence of ") + found + " tokens"),
                 HasSubstr(std::string("has positions for ") + limit), HasSubstr(std::string("max_length=") + limit));
  };
  for (const char* name : {"bert_base", "distilbert_base"}) {
    EXPECT_EQ(refusal("input_ids", name, length(11)), "none");
    EXPECT_THAT(refusal("input_ids", name, length(12)), tells("12", "11"));
  }
  EXPECT_THAT(refusal("input_ids", "gpt2_base", length(10)), tells("10", "9"));
  for (const char* name : {"roberta_base", "mpnet_base"}) {
    EXPECT_EQ(refusal("input_ids", name, length(9)), "none") << "positions begin behind that of padding";
    EXPECT_THAT(refusal("input_ids", name, length(10)), tells("10", "9"));
    at::Tensor padded = length(12);
    padded.narrow(1, 9, 3).fill_(1);
    EXPECT_EQ(refusal("input_ids", name, padded), "none") << "padding takes no position";
  }
  EXPECT_EQ(refusal("input_ids", "llama_base", length(100)), "none");
}

TEST(ids, without_an_embedding_are_refused_before_the_model_runs) {
  const auto one = [](std::int64_t id) { return at::full({2, 3}, id, at::kLong); };
  for (const char* name : {"bert_base", "roberta_base", "mpnet_base", "distilbert_base", "gpt2_base", "llama_base"}) {
    const std::int64_t last = recorded(name).json["config"]["vocab_size"].get<std::int64_t>() - 1;
    EXPECT_EQ(refusal("input_ids", name, one(last)), "none") << name;
    EXPECT_EQ(refusal("input_ids", name, one(last).to(at::kInt)), "none") << name;
    EXPECT_THAT(refusal("input_ids", name, one(last + 1)),
                AllOf(HasSubstr("has the number " + std::to_string(last + 1)),
                      HasSubstr("embeddings for 0 to " + std::to_string(last)), HasSubstr("tokenizer")));
    EXPECT_THAT(refusal("input_ids", name, one(-1)), HasSubstr("has the number -1"));
    EXPECT_THAT(refusal("input_ids", name, one(1).to(at::kFloat)), HasSubstr("is of the type Float"));
    EXPECT_THAT(refusal("input_ids", name, one(1).unsqueeze(0)), HasSubstr("has 3 dimensions"));
    EXPECT_EQ(refusal("input_ids", name, at::zeros({0, 3}, at::kLong)), "none");
  }
  EXPECT_THAT(refusal("token_type_ids", "bert_base", one(9)), HasSubstr("\"token_type_ids\" has the number 9"));
}

/// The meta device refuses to mix with the CPU as a GPU does, and has no attention.
TEST(configured_models, make_positions_on_their_device) {
  const c10::InferenceMode inference;
  const layered_graph layers(recorded("llama3_head").bound({}), layer_unit::modules);
  const graph_code rotary(layers.part(1, 2, c10::kMeta));
  const std::vector<at::Tensor> out = rotary.run({at::zeros({2, 5, 16}, at::device(at::kMeta))});
  ASSERT_EQ(out.size(), 3);
  for (const at::Tensor& each : out) EXPECT_EQ(each.device().type(), c10::kMeta);
}

/// transformers 5 writes what transformers 4 had as rope_theta and rope_scaling in this way.
TEST(configurations, have_rope_parameters_in_place_of_rope_scaling) {
  const c10::InferenceMode inference;
  for (const char* name : {"llama3_head", "llama_linear"}) {
    SCOPED_TRACE(name);
    recorded model(name);
    nlohmann::json& config = model.json["config"];
    config["rope_parameters"] = config["rope_scaling"];
    config["rope_parameters"]["rope_theta"] = config["rope_theta"];
    config.erase("rope_scaling");
    config.erase("rope_theta");
    const nlohmann::json& one = model.json["cases"]["none"];
    const at::Tensor eager = output_of(one["outputs"]["logits"]);
    const at::Tensor out = run(model.bound({}), {tensor_of(one["inputs"]["input_ids"])}).at(0);
    EXPECT_LE((out - eager).abs().max().item<double>(), 1e-5 * eager.abs().max().item<double>());
  }
}

TEST(configurations, of_any_values_give_a_model_or_an_error) {
  const nlohmann::json values{nullptr, true, -1, 0, 1, 13, 1000000000, 9e18, "x", {"x"}, {{"type", "llama3"}}};
  const recorded models[]{recorded("bert_base"), recorded("gpt2_head"), recorded("llama3_head"),
                          recorded("qwen2_window")};
  for (const recorded& each : models) {
    for (const auto& [key, usual] : each.json["config"].items()) {
      for (const nlohmann::json& value : values) {
        nlohmann::json config = each.json["config"];
        config[key] = value;
        const auto built = build(config, each.weights);
        if (built) continue;
        EXPECT_THAT(to_string(built.error()),
                    ::testing::AnyOf(HasSubstr("E0210"), HasSubstr("E0218"), HasSubstr("E0219")))
            << key << " " << value;
      }
    }
  }
}

struct refused {
  const char* model;
  const char* patch;  ///< of the configuration, in JSON
  const char* code;
  const char* cause;
};

const std::vector<refused> all_refused{
    {"bert_base", R"({"hidden_act": "xielu"})", "E0219", "hidden_act: \"xielu\" is none of gelu, gelu_10"},
    {"bert_base", R"({"position_embedding_type": "relative_key"})", "E0219", "position_embedding_type"},
    {"bert_base", R"({"is_decoder": true})", "E0219", "is_decoder: only false is supported"},
    {"bert_base", R"({"add_cross_attention": true})", "E0219", "add_cross_attention"},
    {"bert_base", R"({"pruned_heads": {"0": [1]}})", "E0219", "pruned_heads"},
    {"bert_base", R"({"quantization_config": {"quant_method": "gptq"}})", "E0219", "quantization_config"},
    {"bert_base", R"({"model_type": "nomic_bert"})", "E0219", "model_type: \"nomic_bert\" is none of bert"},
    {"bert_base", R"({"num_attention_heads": 5})", "E0219", "hidden_size: it is no multiple"},
    {"bert_base", R"({"num_attention_heads": 0})", "E0219", "num_attention_heads: 0 is no size"},
    {"bert_base", R"({"hidden_size": "12"})", "E0210", "hidden_size is no whole number"},
    {"bert_base", R"({"hidden_size": 1e300})", "E0210", "hidden_size is no whole number"},
    {"bert_base", R"({"hidden_size": -12})", "E0219", "hidden_size: -12 is not from 0"},
    {"bert_base", R"({"num_hidden_layers": 1000000})", "E0219", "num_hidden_layers: 1000000 is more than 1000"},
    {"bert_base", R"({"layer_norm_eps": "small"})", "E0210", "layer_norm_eps is no number"},
    {"bert_base", R"({"architectures": ["BertForPreTraining"]})", "E0219", "\"BertForPreTraining\" is not built in"},
    {"bert_base", R"({"architectures": []})", "E0219", "architectures: it is empty"},
    {"bert_base", R"({"architectures": "BertModel"})", "E0210", "architectures is no array"},
    {"bert_base", R"({"hidden_size": 999999999, "num_attention_heads": 1})", "E0218", "999999999"},
    {"distilbert_base", R"({"activation": "none"})", "E0219", "activation"},
    {"distilbert_base", R"({"n_heads": 7})", "E0219", "dim: it is no multiple of n_heads"},
    {"gpt2_base", R"({"n_head": 5})", "E0219", "n_embd: it is no multiple of n_head"},
    {"gpt2_base", R"({"n_embd": 999999999, "n_head": 1})", "E0219", "n_embd"},
    {"gpt2_base", R"({"add_cross_attention": true})", "E0219", "add_cross_attention"},
    {"llama_head", R"({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}})", "E0219",
     "rope_scaling.rope_type: \"yarn\""},
    {"llama_head", R"({"rope_scaling": {"type": "dynamic", "factor": 4.0}})", "E0219",
     "rope_scaling.type: \"dynamic\""},
    {"llama_head", R"({"rope_scaling": {"type": "linear"}})", "E0210", "factor"},
    {"llama_head", R"({"rope_scaling": {"type": "linear", "factor": 0}})", "E0219", "rope_scaling.factor"},
    {"llama_head", R"({"rope_scaling": 3})", "E0210", "rope_scaling is no object"},
    {"llama_head", R"({"rope_theta": -1})", "E0219", "rope_theta: it is not above 0"},
    {"llama_head", R"({"rope_scaling": {"factor": 2.0}})", "E0219", "rope_scaling.rope_type: it is missing"},
    {"llama_head", R"({"rope_scaling": {"type": "linear", "rope_type": "default", "factor": 2.0}})", "E0219",
     "rope_scaling.type: rope_type has another value"},
    {"llama_head", R"({"rope_parameters": {"full_attention": {"rope_type": "default"}}})", "E0219",
     "rope_parameters.full_attention: it is not supported"},
    {"llama_head", R"({"rope_parameters": {"partial_rotary_factor": 0.5}})", "E0219",
     "rope_parameters.partial_rotary_factor: only 1"},
    {"llama_head", R"({"rope_parameters": {"rope_theta": 9.0}, "rope_scaling": {"type": "linear", "factor": 2.0}})",
     "E0219", "rope_scaling: rope_parameters is there, too"},
    {"llama_head", R"({"is_causal": false})", "E0219", "is_causal: only true"},
    {"llama_head", R"({"use_bidirectional_attention": true})", "E0219", "use_bidirectional_attention"},
    {"llama_head", R"({"auto_map": {"AutoModel": "modeling.Model"}})", "E0219", "auto_map: the model has Python code"},
    {"llama_head", R"({"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 4})", "E0219",
     "layer_types: sliding_attention is not supported without"},
    {"llama_head", R"({"partial_rotary_factor": 0.5})", "E0219", "partial_rotary_factor"},
    {"llama_head", R"({"num_key_value_heads": 3})", "E0219", "num_key_value_heads"},
    {"llama_head", R"({"head_dim": 5})", "E0219", "head_dim"},
    {"llama_head", R"({"head_dim": 100000000})", "E0219", "head_dim"},
    {"llama_head", R"({"head_dim": 65536, "num_attention_heads": 1000000})", "E0219", "head_dim: 1000000 times 65536"},
    {"llama_head", R"({"attn_logit_softcapping": 50.0})", "E0219", "attn_logit_softcapping"},
    {"llama_head", R"({"vocab_size": 1000000000, "hidden_size": 1000000000, "head_dim": 4})", "E0218", "1000000000"},
    {"qwen2_window", R"({"layer_types": ["full_attention"]})", "E0219", "layer_types"},
    {"qwen2_window", R"({"layer_types": ["full_attention", "chunked_attention"]})", "E0219", "chunked_attention"},
    {"qwen2_window", R"({"use_sliding_window": false, "layer_types": ["full_attention", "sliding_attention"]})",
     "E0219", "layer_types: sliding_attention is not supported without"},
    {"mistral_window", R"({"layer_types": ["full_attention", "sliding_attention"]})", "E0219",
     "layer_types: full_attention is not supported beside"},
    {"mistral_window", R"({"sliding_window": 0})", "E0219", "sliding_window: 0 is no size"},
};

TEST(configurations, are_refused_by_name) {
  for (const refused& each : all_refused) {
    SCOPED_TRACE(std::string(each.model) + " " + each.patch);
    recorded model(each.model);
    model.json["config"].update(nlohmann::json::parse(each.patch));
    const auto built = build(model.json["config"], model.weights);
    ASSERT_FALSE(built);
    EXPECT_THAT(to_string(built.error()), AllOf(HasSubstr(each.code), HasSubstr(each.cause)));
  }
}

}  // namespace
}  // namespace troupe::testing
