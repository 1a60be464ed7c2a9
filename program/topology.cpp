#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "program/topology/topology_parts.hpp"
#include "runtime/device/device_name.hpp"
#include "runtime/topology/draw/draw.hpp"
#include <troupe/model.hpp>
#include <troupe/topology.hpp>

namespace troupe {
namespace {

graph_node make_node(std::string name, node_kind kind, const stage_options& options) {
  graph_node node;
  node.name = std::move(name);
  node.kind = kind;
  node.replicas = options.replicas;
  node.num_pipe_buffers = options.num_pipe_buffers;
  node.inputs = options.inputs;
  node.outputs = options.outputs;
  node.ordered = options.ordered;
  return node;
}

graph_node make_end(std::string name, node_kind kind) {
  graph_node node;
  node.name = std::move(name);
  node.kind = kind;
  return node;
}

port_name parse_end(const std::string& text, const char* default_port) {
  const auto dot = text.rfind('.');
  if (dot == std::string::npos) return {text, default_port};
  return {text.substr(0, dot), text.substr(dot + 1)};
}

expected<void> check_device(const std::string& name, const std::string& device) {
  return parse_device(device, "stage '" + name + "', device").map([](const device_name&) {});
}

/// A join or route moves rows, and the host knows which.
void check_moves_rows(topology_parts& parts, const std::string& name, const stage_options& options) {
  if (options.device != "cpu") {
    parts.mistakes.push_back({error_code::topology_invalid, "'" + name + "', device " + options.device,
                              "a join or route computes on the CPU", "leave the device out"});
  }
  if (!options.dtype && !options.threads) return;
  parts.mistakes.push_back({error_code::flags_contradict, "'" + name + "', " + (options.dtype ? "dtype" : "threads"),
                            "a join or route moves rows, and computes nothing", "leave it out"});
}

/// Its own parameter names them.
void check_no_ports(topology_parts& parts, const std::string& name, const char* option,
                    const std::vector<std::string>& ports, const std::vector<std::string>& otherwise) {
  if (ports == otherwise) return;
  parts.mistakes.push_back({error_code::flags_contradict, "'" + name + "', " + option,
                            "the cases of a route, and the inputs of a join, are its ports", "leave it out"});
}

expected<void> check_threads(const std::string& name, const std::optional<std::uint32_t>& threads) {
  if (!threads || (*threads >= 1 && *threads <= limits::threads_max)) return {};
  return fail(error_code::topology_invalid, "stage '" + name + "'",
              std::to_string(*threads) + " threads, allowed are 1 to " + std::to_string(limits::threads_max),
              "choose a number between these, or none");
}

expected<void> check_dtype(const std::string& name, const std::optional<c10::ScalarType>& dtype) {
  if (!dtype || *dtype == at::kFloat || *dtype == at::kHalf || *dtype == at::kBFloat16) return {};
  return fail(error_code::topology_invalid, "stage '" + name + "'",
              std::string("inputs cannot be cast to ") + c10::toString(*dtype), "use float32, float16 or bfloat16");
}

template <class Options>
expected<void> check_settings(const std::string& name, const Options& options) {
  return check_device(name, options.device)
      .and_then([&] { return check_threads(name, options.threads); })
      .and_then([&] { return check_dtype(name, options.dtype); });
}

/// Where the node is to live.
void settle(topology_parts& parts, const std::string& name, const stage_options& options) {
  if (options.process) parts.in_processes.insert(name);
  if (options.in_driver) parts.in_driver.insert(name);
  if (options.in_driver && (options.process || !options.placement.empty())) {
    parts.mistakes.push_back({error_code::topology_invalid, "stage '" + name + "'",
                              "it is to be in the driver, and in another process",
                              "leave out in_driver, or process and placement"});
  }
  if (!options.placement.empty()) parts.places[name] = options.placement;
}

}  // namespace

const std::string& name_of(const metric_choice& metric) noexcept {
  const auto* name = std::get_if<std::string>(&metric);
  return name != nullptr ? *name : std::get<metric_ptr>(metric)->name();
}

stage_recipe::stage_recipe(const torch::jit::Module& module) : factory_(torchscript(module)) {}

topology::topology() : parts_(std::make_unique<topology_parts>()) {}
topology::topology(const topology& other) : parts_(std::make_unique<topology_parts>(*other.parts_)) {}
topology::topology(topology&& other) noexcept = default;
topology& topology::operator=(const topology& other) {
  if (this != &other) parts_ = std::make_unique<topology_parts>(*other.parts_);
  return *this;
}
topology& topology::operator=(topology&& other) noexcept = default;
topology::~topology() = default;

topology& topology::source(std::string name, data_choice data) {
  parts_->data = std::move(data);
  parts_->add(make_end(std::move(name), node_kind::source));
  return *this;
}

topology& topology::stage(const std::string& name, stage_recipe what, const stage_options& options) {
  if (auto fine = check_settings(name, options); !fine) parts_->mistakes.push_back(fine.error());
  settle(*parts_, name, options);
  parts_->add(make_node(name, node_kind::stage, options), stage_node{std::move(what), options});
  return *this;
}

topology& topology::pipeline(std::string name, model_source model, cut_options options) {
  if (auto fine = check_settings(name, options); !fine) parts_->mistakes.push_back(fine.error());
  if (auto fine = model.check(options, name); !fine) parts_->mistakes.push_back(fine.error());
  if (options.placement.size() > 1 && options.placement.size() != options.stages) {
    parts_->mistakes.push_back({error_code::topology_invalid, "pipeline '" + name + "'",
                                "its placement names " + std::to_string(options.placement.size()) + " nodes for " +
                                    std::to_string(options.stages) + " stages",
                                "name one node, or one for each stage"});
  }
  for (std::uint32_t part = 0; part < std::min(options.stages, limits::stages_max + 1); ++part) {
    graph_node node = make_node(part_name(name, part), node_kind::stage,
                                {.replicas = options.replicas, .num_pipe_buffers = options.num_pipe_buffers});
    node.pipeline_group = name;
    node.ordered = options.ordered && part == 0;
    if (options.process) parts_->in_processes.insert(node.name);
    if (!options.placement.empty())
      parts_->places[node.name] = {options.placement[std::min<std::size_t>(part, options.placement.size() - 1)]};
    parts_->add(node, cut_node{name, part});
    if (part > 0) parts_->edges.push_back({{part_name(name, part - 1), "out"}, {node.name, "in"}});
  }
  parts_->pipelines.emplace(std::move(name), cut_pipeline{std::move(model), std::move(options)});
  return *this;
}

topology& topology::join(std::string name, std::vector<std::string> inputs, stage_options options) {
  check_moves_rows(*parts_, name, options);
  check_no_ports(*parts_, name, "inputs", options.inputs, stage_options{}.inputs);
  options.inputs = std::move(inputs);
  settle(*parts_, name, options);
  parts_->add(make_node(std::move(name), node_kind::join, options), join_node{});
  return *this;
}

topology& topology::route(std::string name, std::vector<route_case> cases, stage_options options) {
  check_moves_rows(*parts_, name, options);
  check_no_ports(*parts_, name, "outputs", options.outputs, stage_options{}.outputs);
  options.outputs.clear();
  settle(*parts_, name, options);
  for (const route_case& each : cases) options.outputs.push_back(each.name);
  graph_node node = make_node(std::move(name), node_kind::route, options);
  const auto takes_all = [](const route_case& each) { return !each.predicate; };
  node.covers_all_samples = !cases.empty() && takes_all(cases.back());
  if (std::ranges::count_if(cases, takes_all) > 1) {
    parts_->mistakes.push_back({error_code::topology_invalid, "route '" + node.name + "'",
                                "two cases without a predicate: the second would never get a sample", "leave one"});
  }
  parts_->add(node, route_node{std::move(cases)});
  return *this;
}

topology& topology::sink(std::string name, std::vector<metric_choice> metrics, sink_options options) {
  for (const metric_choice& each : metrics) {
    const auto* own = std::get_if<metric_ptr>(&each);
    if (own == nullptr || *own != nullptr) continue;
    parts_->mistakes.push_back({error_code::topology_invalid, "sink '" + name + "'",
                                "one of its metrics is a null pointer", "make the metric first"});
  }
  parts_->sinks.push_back({name, std::move(metrics), std::move(options)});
  parts_->add(make_end(std::move(name), node_kind::sink));
  return *this;
}

topology& topology::edge(const std::string& from, const std::string& to) {
  parts_->edges.push_back({parse_end(from, stage_graph::default_output), parse_end(to, stage_graph::default_input)});
  return *this;
}

topology& topology::replicate(const std::string& name, std::uint32_t replicas) {
  const auto found = std::ranges::find(parts_->nodes, name, &graph_node::name);
  if (found == parts_->nodes.end()) {
    parts_->mistakes.push_back({error_code::topology_invalid, "replicate", "there is no node '" + name + "'",
                                "add it before it is replicated; a pipeline has an option for this"});
  } else {
    found->replicas = replicas;
  }
  return *this;
}

std::string topology::picture() const {
  get(check());
  const stage_graph drawn = parts_->graph();
  std::string text = draw_text(drawn);
  for (const graph_node& node : drawn.nodes()) {
    const auto found = parts_->places.find(node.name);
    if (found != parts_->places.end())
      text += fmt::format("place   {} on {}\n", node.name, fmt::join(found->second, ", "));
  }
  for (const std::string& shortage : find_shortages(drawn)) text += "warning: " + shortage + "\n";
  return text;
}

std::string topology::svg() const {
  get(check());
  return draw_svg(parts_->graph());
}

expected<void> topology::check() const {
  if (!parts_->mistakes.empty()) return tl::make_unexpected(parts_->mistakes.front());
  return validate(parts_->graph()).and_then([&] { return parts_->check_places(); }).and_then([&] {
    return parts_->check_objects();
  });
}

}  // namespace troupe
