#include <cstdint>
#include <optional>
#include <string>

#include "runtime/architecture/activations.hpp"
#include "runtime/architecture/attention.hpp"
#include "runtime/architecture/families.hpp"
#include "runtime/architecture/modules.hpp"
#include "runtime/architecture/task_heads.hpp"

namespace troupe {
namespace {

/// Sanh et al., "DistilBERT" (arXiv:1910.01108), with the names of transformers.
struct distilbert_sizes {
  std::int64_t vocabulary = 1;
  std::int64_t hidden = 1;
  std::int64_t layers = 1;
  std::int64_t heads = 1;
  std::int64_t inner = 1;
  std::int64_t positions = 1;
  std::string act;
  bool is_tied = true;
};

constexpr double distilbert_epsilon = 1e-12;

distilbert_sizes read_distilbert_sizes(config_reader& config) {
  config.choice("model_type", {"distilbert"}, "distilbert");
  config.refuse_any("pruned_heads");
  distilbert_sizes sizes{.vocabulary = config.size("vocab_size", 30522),
                         .hidden = config.size(config.either("dim", "hidden_size"), 768),
                         .layers = config.layers(config.either("n_layers", "num_hidden_layers"), 6),
                         .heads = config.size(config.either("n_heads", "num_attention_heads"), 12),
                         .inner = config.size("hidden_dim", 3072),
                         .positions = config.size("max_position_embeddings", 512),
                         .act = config.choice("activation", activation_names(), "gelu"),
                         .is_tied = config.flag("tie_word_embeddings", true)};
  if (sizes.hidden % sizes.heads != 0) config.refuse("dim", "it is no multiple of n_heads");
  return sizes;
}

tensor_value distilbert_norm(network& net, const std::string& name, tensor_value x, const distilbert_sizes& sizes) {
  return layer_norm(net, name, x, sizes.hidden, distilbert_epsilon);
}

tensor_value distilbert_block(network& net, std::int64_t index, tensor_value x, tensor_value mask, tensor_value scores,
                              const distilbert_sizes& sizes) {
  const auto here = net.enter("layer." + std::to_string(index), "TransformerBlock");
  tensor_value seen = nullptr;
  {
    const auto attention = net.enter("attention", "DistilBertSdpaAttention");
    const auto heads_of = [&](const std::string& name) {
      return split_heads(net, linear(net, name, x, sizes.hidden, sizes.hidden), sizes.heads,
                         sizes.hidden / sizes.heads);
    };
    tensor_value const query = heads_of("q_lin");
    tensor_value const key = heads_of("k_lin");
    seen = join_heads(net, attend_masked(net, query, key, heads_of("v_lin"), mask, scores));
    seen = linear(net, "out_lin", seen, sizes.hidden, sizes.hidden);
  }
  x = distilbert_norm(net, "sa_layer_norm", net.call("add", {seen, x}), sizes);
  tensor_value y = nullptr;
  {
    const auto ffn = net.enter("ffn", "FFN");
    y = activation(net, sizes.act, linear(net, "lin1", x, sizes.hidden, sizes.inner));
    y = linear(net, "lin2", y, sizes.inner, sizes.hidden);
  }
  return distilbert_norm(net, "output_layer_norm", net.call("add", {y, x}), sizes);
}

/// Inputs, embeddings and layers, in the module that is entered.
tensor_value distilbert_encoder(network& net, const distilbert_sizes& sizes) {
  net.weights().ignore("embeddings.position_ids");
  tensor_value const ids = net.ids_input("input_ids", {.count = sizes.vocabulary, .longest = sizes.positions});
  tensor_value const mask = net.input("attention_mask", c10::IValue());
  tensor_value scores = nullptr;
  tensor_value x = nullptr;
  {
    const auto here = net.enter("embeddings", "Embeddings");
    x = embedding(net, "word_embeddings", ids, sizes.vocabulary, sizes.hidden);
    x = net.call("add", {x, first_rows(net, "position_embeddings", ids, sizes.positions, sizes.hidden)});
    x = distilbert_norm(net, "LayerNorm", x, sizes);
    scores = mask_scores(net, mask, x);
  }
  const auto here = net.enter("transformer", "Transformer");
  for (std::int64_t i = 0; i < sizes.layers; ++i) x = distilbert_block(net, i, x, mask, scores, sizes);
  return x;
}

void ignore_distilbert_head(network& net) {
  for (const char* name : {"vocab_transform.", "vocab_layer_norm.", "vocab_projector."})
    net.weights().ignore_module(name);
}

tensor_value distilbert_below(network& net, const distilbert_sizes& sizes) {
  net.weights().set_base("distilbert.");
  const auto here = net.enter("distilbert", "DistilBertModel");
  return distilbert_encoder(net, sizes);
}

void write_distilbert(network& net, config_reader& config) {
  const distilbert_sizes sizes = read_distilbert_sizes(config);
  net.weights().set_whole("distilbert.");
  ignore_distilbert_head(net);
  net.output("last_hidden_state", distilbert_encoder(net, sizes));
}

void write_distilbert_classes(network& net, config_reader& config) {
  const distilbert_sizes sizes = read_distilbert_sizes(config);
  tensor_value x = net.call("select", {distilbert_below(net, sizes), 1, 0});
  ignore_distilbert_head(net);
  x = net.call("relu", {linear(net, "pre_classifier", x, sizes.hidden, sizes.hidden)});
  net.output("logits", linear(net, "classifier", x, sizes.hidden, labels_of(net, "classifier")));
}

void write_distilbert_answer(network& net, config_reader& config) {
  const distilbert_sizes sizes = read_distilbert_sizes(config);
  tensor_value const x = distilbert_below(net, sizes);
  ignore_distilbert_head(net);
  write_answer(net, x, sizes.hidden);
}

void write_distilbert_masked(network& net, config_reader& config) {
  const distilbert_sizes sizes = read_distilbert_sizes(config);
  tensor_value x = distilbert_below(net, sizes);
  x = activation(net, sizes.act, linear(net, "vocab_transform", x, sizes.hidden, sizes.hidden));
  x = distilbert_norm(net, "vocab_layer_norm", x, sizes);
  const auto here = net.enter("vocab_projector", "Linear");
  std::optional<std::string> tied_to;
  if (sizes.is_tied) tied_to = "distilbert.embeddings.word_embeddings.weight";
  tensor_value const weight = vocabulary_weight(net, tied_to, sizes.vocabulary, sizes.hidden);
  net.output("logits", net.call("linear", {x, weight, net.parameter("bias", {sizes.vocabulary})}));
}

}  // namespace

void add_distilbert(std::map<std::string, configured_builder>& to) {
  to.emplace("DistilBertModel", write_distilbert);
  to.emplace("DistilBertForSequenceClassification", write_distilbert_classes);
  to.emplace("DistilBertForQuestionAnswering", write_distilbert_answer);
  to.emplace("DistilBertForMaskedLM", write_distilbert_masked);
}

}  // namespace troupe
