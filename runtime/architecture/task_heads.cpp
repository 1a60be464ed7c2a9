#include "runtime/architecture/task_heads.hpp"

#include "runtime/architecture/modules.hpp"

namespace troupe {

std::int64_t labels_of(network& net, const std::string& layer) {
  const auto sizes = net.weights().sizes_of(layer + ".weight");
  return sizes && !sizes->empty() ? sizes->front() : 2;
}

void write_answer(network& net, tensor_value x, std::int64_t hidden) {
  const auto logits = linear(net, "qa_outputs", x, hidden, 2);
  const auto here = net.enter("qa_outputs", "Linear");
  net.output("start_logits", net.call("select", {logits, -1, 0}));
  net.output("end_logits", net.call("select", {logits, -1, 1}));
}

tensor_value vocabulary_weight(network& net, const std::optional<std::string>& tied_to, std::int64_t vocabulary,
                               std::int64_t hidden) {
  if (!tied_to) return net.parameter("weight", {vocabulary, hidden});
  net.weights().ignore(net.path() + ".weight");
  return net.shared_parameter("weight", *tied_to, {vocabulary, hidden});
}

void write_causal_head(network& net, tensor_value x, const std::optional<std::string>& tied_to, std::int64_t vocabulary,
                       std::int64_t hidden) {
  const auto here = net.enter("lm_head", "Linear");
  net.output("logits", net.call("linear", {x, vocabulary_weight(net, tied_to, vocabulary, hidden), net.none()}));
}

}  // namespace troupe
