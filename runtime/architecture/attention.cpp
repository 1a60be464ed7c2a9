#include "runtime/architecture/attention.hpp"

#include <limits>
#include <vector>

namespace troupe {
namespace {

tensor_value as_mask_of_keys(network& net, tensor_value of_tokens) {
  return net.call("unsqueeze", {net.call("unsqueeze", {of_tokens, 1}), 1});
}

c10::IValue or_none(const std::optional<double>& value) {
  return value ? c10::IValue(*value) : c10::IValue();
}

/// Which keys a query may see, whatever the data: [S, S].
tensor_value earlier_tokens(network& net, tensor_value query, const std::optional<std::int64_t>& window) {
  tensor_value const length = net.call("size", {query, 2});
  const std::vector<torch::jit::NamedValue> of_bool{{"dtype", static_cast<std::int64_t>(c10::kBool)}};
  tensor_value const seen = net.call("tril", {net.call("new_ones", {query, net.list({length, length})}, of_bool)});
  return window ? net.call("triu", {seen, 1 - *window}) : seen;
}

}  // namespace

tensor_value split_heads(network& net, tensor_value x, std::int64_t heads, std::int64_t size) {
  return net.call("transpose", {net.call("unflatten", {x, -1, std::vector<std::int64_t>{heads, size}}), 1, 2});
}

tensor_value join_heads(network& net, tensor_value x) {
  return net.call("flatten", {net.call("transpose", {x, 1, 2}), 2});
}

tensor_value mask_scores(network& net, tensor_value attention_mask, tensor_value like) {
  const auto given = [&](tensor_value mask) {
    tensor_value const is_token = net.call("eq", {mask, 1});
    tensor_value const infinite = net.call("where", {is_token, 0.0, -std::numeric_limits<double>::infinity()});
    // the lowest number of the type takes the place of minus infinity
    return as_mask_of_keys(net, net.call("nan_to_num", {net.call("type_as", {infinite, like})}));
  };
  return net.if_given(attention_mask, given, [&] { return like; });  // which nothing uses then
}

tensor_value attend_masked(network& net, tensor_value query, tensor_value key, tensor_value value,
                           tensor_value attention_mask, tensor_value scores) {
  const auto given = [&](tensor_value) {
    return net.call("scaled_dot_product_attention", {query, key, value, scores});
  };
  return net.if_given(attention_mask, given, [&] {
    return net.call("scaled_dot_product_attention", {query, key, value});
  });
}

tensor_value attend_causal(network& net, tensor_value query, tensor_value key, tensor_value value,
                           tensor_value attention_mask, const causal_attention& kind) {
  const auto attend = [&](tensor_value seen, bool is_causal) {
    const auto one_per_query = [&](tensor_value x) {
      return kind.group == 1 ? x : net.call("repeat_interleave", {x, kind.group, 1});
    };
    return net.call("scaled_dot_product_attention",
                    {query, one_per_query(key), one_per_query(value), seen, 0.0, is_causal},
                    {{"scale", or_none(kind.scale)}});
  };
  const auto given = [&](tensor_value mask) {
    tensor_value const is_token = as_mask_of_keys(net, net.call("ne", {mask, 0}));
    return attend(net.call("bitwise_and", {earlier_tokens(net, query, kind.window), is_token}), false);
  };
  // Without padding the kernel leaves out what no token sees; the bits are those of a mask of ones.
  return net.if_given(attention_mask, given, [&] {
    return kind.window ? attend(earlier_tokens(net, query, kind.window), false) : attend(net.none(), true);
  });
}

}  // namespace troupe
