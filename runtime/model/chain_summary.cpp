#include "runtime/model/chain_summary.hpp"

#include "messages/check.hpp"
#include "runtime/model/probe.hpp"
#include <troupe/model.hpp>

namespace troupe {

chain_summary summarize(const layer_chain& chain, const std::vector<layer_shape>& shapes) {
  TROUPE_CHECK(shapes.empty() || shapes.size() == chain.layers.size(), "a probe tells of each layer or of none");
  chain_summary summary;
  summary.file = chain.file;
  for (const layer& one : chain.layers) {
    layer_summary line{
        one.index, one.name, one.type, one.parameters, one.trainable, one.parameter_bytes, one.buffer_bytes,
        {},        {},       {}};
    if (!shapes.empty()) {
      const layer_shape& shape = shapes[one.index];
      line.input_shape = shape.input;
      line.output_shape = shape.output;
      line.output_bytes = shape.output_bytes;
    }
    summary.layers.push_back(std::move(line));
    summary.parameters += one.parameters;
    summary.trainable += one.trainable;
    summary.parameter_bytes += one.parameter_bytes;
    summary.buffer_bytes += one.buffer_bytes;
  }
  return summary;
}

chain_summary summarize(const layer_chain& chain) {
  return summarize(chain, {});
}

}  // namespace troupe
