#include "runtime/architecture/sentence_embedding.hpp"

namespace troupe {
namespace {

using sizes_list = std::vector<std::int64_t>;

/// Over the tokens whose mask is not 0, as the Pooling of sentence-transformers computes it.
tensor_value mean_of_tokens(network& net, tensor_value x, tensor_value attention_mask) {
  const auto given = [&](tensor_value mask) {
    tensor_value const weight = net.call("unsqueeze", {net.call("type_as", {mask, x}), -1});
    tensor_value const count = net.call("clamp_min", {net.call("sum", {weight, sizes_list{1}}), 1e-9});
    return net.call("div", {net.call("sum", {net.call("mul", {x, weight}), sizes_list{1}}), count});
  };
  return net.if_given(attention_mask, given, [&] { return net.call("mean", {x, sizes_list{1}}); });
}

}  // namespace

bool write_sentence_embedding(network& net, const sentence_embedding& kind) {
  tensor_value const hidden = net.find_output("last_hidden_state");
  tensor_value const mask = net.find_input("attention_mask");
  if (hidden == nullptr || mask == nullptr) return false;
  tensor_value x = nullptr;
  {
    const auto here = net.enter("pooling", "Pooling");
    x = kind.from_first_token ? net.call("select", {hidden, 1, 0}) : mean_of_tokens(net, hidden, mask);
  }
  if (kind.is_normalized) {
    const auto here = net.enter("normalize", "Normalize");
    tensor_value const norm = net.call("norm", {x, 2, sizes_list{1}, true});
    x = net.call("div", {x, net.call("clamp_min", {norm, 1e-12})});
  }
  net.output("sentence_embedding", x);
  return true;
}

}  // namespace troupe
