#include "runtime/topology/plan_fingerprint.hpp"

#include <string>

namespace troupe {
namespace {

/// http://www.isthe.com/chongo/tech/comp/fnv/ has the constants.
class fnv1a {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<std::uint8_t>(c));
    add_byte(0);  // "ab", "c" is not "a", "bc"
  }
  void add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) add_byte(static_cast<std::uint8_t>(number >> shift));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void add_byte(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

void add(fnv1a& hash, const wired_node& node) {
  hash.add(node.name);
  hash.add(static_cast<std::uint64_t>(node.kind));
  hash.add(node.replicas);
  hash.add(node.num_pipe_buffers);
  hash.add(node.sinks.size());
  for (const std::uint32_t sink : node.sinks) hash.add(sink);
  hash.add(node.inputs.size());
  for (const std::string& port : node.inputs) hash.add(port);
  hash.add(node.outputs.size());
  for (const std::string& port : node.outputs) hash.add(port);
  hash.add((node.keeps_order ? 1u : 0u) + (node.fixed_replica ? 2u : 0u) + (node.names_pipe_buffers ? 4u : 0u));
}

}  // namespace

std::uint64_t plan_fingerprint(const wiring_plan& plan, std::string_view settings) {
  fnv1a hash;
  hash.add(plan.nodes.size());
  for (const wired_node& node : plan.nodes) add(hash, node);
  hash.add(plan.channels.size());
  for (const wired_channel& channel : plan.channels) {
    for (const std::uint64_t number : {std::uint64_t{channel.producer}, std::uint64_t{channel.consumer},
                                       std::uint64_t{channel.slots}, std::uint64_t{channel.output_port},
                                       std::uint64_t{channel.input_port}, static_cast<std::uint64_t>(channel.kind)}) {
      hash.add(number);
    }
  }
  hash.add(plan.sinks.size());
  for (const wired_sink& sink : plan.sinks) {
    hash.add(sink.name);
    hash.add(sink.stage);
    hash.add(sink.output_port);
  }
  hash.add(settings);
  return hash.value();
}

}  // namespace troupe
