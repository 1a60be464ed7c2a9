#include <functional>
#include <optional>
#include <vector>

#include "runtime/architecture/activations.hpp"
#include "runtime/architecture/bert_encoder.hpp"
#include "runtime/architecture/families.hpp"
#include "runtime/architecture/modules.hpp"
#include "runtime/architecture/task_heads.hpp"

namespace troupe {
namespace {

/// What a class has behind the encoder; `x` is [N, S, hidden].
using bert_head = std::function<void(network& net, tensor_value x, const bert_kind& kind, const bert_sizes& sizes)>;

tensor_value bert_pooler(network& net, tensor_value x, const std::string& type, std::int64_t hidden) {
  const auto here = net.enter("pooler", type + "Pooler");
  return net.call("tanh", {linear(net, "dense", net.call("select", {x, 1, 0}), hidden, hidden)});
}

/// A file of a pretrained model may have more than the class in its config.json, which transformers drops.
void ignore_language_head(network& net, const bert_kind& kind) {
  net.weights().ignore_module(kind.is_roberta ? "lm_head." : "cls.");
}

void ignore_pooler(network& net) {
  net.weights().ignore("pooler.dense.weight");
  net.weights().ignore("pooler.dense.bias");
}

void write_base(network& net, config_reader& config, const bert_kind& kind) {
  const bert_sizes sizes = read_bert_sizes(config, kind);
  net.weights().set_whole(kind.prefix + ".");
  ignore_language_head(net, kind);
  tensor_value const x = bert_encoder(net, kind, sizes);
  net.output("last_hidden_state", x);
  // many files of sentence embeddings and of masked language models lack it
  if (net.weights().sizes_of("pooler.dense.weight"))
    net.output("pooler_output", bert_pooler(net, x, kind.type, sizes.hidden));
}

void write_with_head(network& net, config_reader& config, const bert_kind& kind, bool has_pooler,
                     const bert_head& head) {
  const bert_sizes sizes = read_bert_sizes(config, kind);
  net.weights().set_base(kind.prefix + ".");
  tensor_value x = nullptr;
  {
    const auto here = net.enter(kind.prefix, kind.type + "Model");
    x = bert_encoder(net, kind, sizes);
    if (has_pooler) x = bert_pooler(net, x, kind.type, sizes.hidden);
  }
  if (!has_pooler) ignore_pooler(net);
  head(net, x, kind, sizes);
}

void classify(network& net, tensor_value pooled, const bert_kind& kind, const bert_sizes& sizes) {
  ignore_language_head(net, kind);
  net.output("logits", linear(net, "classifier", pooled, sizes.hidden, labels_of(net, "classifier")));
}

void classify_roberta(network& net, tensor_value x, const bert_kind& kind, const bert_sizes& sizes) {
  ignore_language_head(net, kind);
  const auto here = net.enter("classifier", kind.type + "ClassificationHead");
  x = net.call("tanh", {linear(net, "dense", net.call("select", {x, 1, 0}), sizes.hidden, sizes.hidden)});
  net.output("logits", linear(net, "out_proj", x, sizes.hidden, labels_of(net, "classifier.out_proj")));
}

void answer_questions(network& net, tensor_value x, const bert_kind& kind, const bert_sizes& sizes) {
  ignore_language_head(net, kind);
  write_answer(net, x, sizes.hidden);
}

/// The projection to the vocabulary. Its bias has two names in one state dict, and a file may have either.
tensor_value bert_decoder(network& net, tensor_value x, const bert_kind& kind, const bert_sizes& sizes) {
  const std::string usual = net.path() + ".bias";
  const std::string other = net.path() + ".decoder.bias";
  const bool has_other = !net.weights().sizes_of(usual) && net.weights().sizes_of(other);
  net.weights().ignore(other);
  const auto here = net.enter("decoder", "Linear");
  tensor_value const bias = net.shared_parameter("bias", has_other ? other : usual, {sizes.vocabulary});
  std::optional<std::string> tied_to;
  if (sizes.is_tied) tied_to = kind.prefix + ".embeddings.word_embeddings.weight";
  return net.call("linear", {x, vocabulary_weight(net, tied_to, sizes.vocabulary, sizes.hidden), bias});
}

void predict_masked(network& net, tensor_value x, const bert_kind& kind, const bert_sizes& sizes) {
  if (kind.is_roberta) {
    const auto here = net.enter("lm_head", kind.type + "LMHead");
    x = activation(net, "gelu", linear(net, "dense", x, sizes.hidden, sizes.hidden));
    x = layer_norm(net, "layer_norm", x, sizes.hidden, sizes.epsilon);
    net.output("logits", bert_decoder(net, x, kind, sizes));
    return;
  }
  net.weights().ignore_module("cls.seq_relationship.");
  const auto head = net.enter("cls", kind.type + "OnlyMLMHead");
  const auto here = net.enter("predictions", kind.type + "LMPredictionHead");
  {
    const auto transform = net.enter("transform", kind.type + "PredictionHeadTransform");
    x = activation(net, sizes.act, linear(net, "dense", x, sizes.hidden, sizes.hidden));
    x = layer_norm(net, "LayerNorm", x, sizes.hidden, sizes.epsilon);
  }
  net.output("logits", bert_decoder(net, x, kind, sizes));
}

}  // namespace

void add_berts(std::map<std::string, configured_builder>& to) {
  const std::vector<bert_kind> kinds{
      {.prefix = "bert", .type = "Bert", .model_type = "bert", .vocabulary = 30522},
      {.prefix = "roberta", .type = "Roberta", .model_type = "roberta", .is_roberta = true, .vocabulary = 50265},
      {.prefix = "roberta", .type = "XLMRoberta", .model_type = "xlm-roberta", .is_roberta = true, .vocabulary = 30522},
      {.prefix = "mpnet",
       .type = "MPNet",
       .model_type = "mpnet",
       .is_roberta = true,
       .is_mpnet = true,
       .vocabulary = 30527},
  };
  for (const bert_kind& kind : kinds) {
    const auto with_head = [&](const std::string& name, bool has_pooler, const bert_head& head) {
      to.emplace(kind.type + name, [kind, has_pooler, head](network& net, config_reader& config) {
        write_with_head(net, config, kind, has_pooler, head);
      });
    };
    to.emplace(kind.type + "Model", [kind](network& net, config_reader& config) { write_base(net, config, kind); });
    with_head("ForSequenceClassification", !kind.is_roberta, kind.is_roberta ? classify_roberta : classify);
    with_head("ForQuestionAnswering", false, answer_questions);
    with_head("ForMaskedLM", false, predict_masked);
  }
}

}  // namespace troupe
