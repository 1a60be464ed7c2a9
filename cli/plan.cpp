#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "actors/workers/resource_needs.hpp"
#include "command.hpp"
#include "messages/try.hpp"
#include "node_flags.hpp"
#include "option_flags.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "program/plan/plan_report.hpp"
#include "runtime/config/data_overrides.hpp"
#include "runtime/data/data_specification.hpp"
#include "runtime/launch/node_filter.hpp"
#include "runtime/os/cpu_quota.hpp"
#include "runtime/partition/weights.hpp"
#include "runtime/report/atomic_file.hpp"
#include "runtime/topology/draw/draw.hpp"

namespace troupe::cli {
namespace {

constexpr const char* examples =
    "  troupe plan --model data/cifar10/resnet20.pt --stages 4\n"
    "  troupe plan --model data/cifar10/resnet20.pt --data cifar10:data/cifar10 --stages 4 --partition profile\n"
    "  troupe plan --model data/mnist/lenet.pt --stages 3 --replicas 2 --svg plan.svg\n"
    "  troupe plan --model data/cifar10/resnet20.pt --stages 4 --hostfile HOSTS --exclude w1:1\n"
    "  troupe plan --layer-weights 1,2,1 --stages 4 --partition balanced --json\n";

/// What changes a plan. Nothing is started, and layers are timed on the CPU: device, metrics, journal and log change
/// nothing in it.
constexpr std::array<std::string_view, 20> taken = {
    "model",         "weights",      "arch",   "not_strict", "data",      "stages",           "replicas",
    "micro_batch",   "threads",      "layers", "optimize",   "partition", "num_pipe_buffers", "dtype",
    "allow_effects", "allow_random", "limit",  "json",       "processes", "transport"};

std::string weights_text(const std::vector<double>& weights, const part_boundaries& boundaries) {
  std::string text = fmt::format("boundaries  {}\n", fmt::join(boundaries, ","));
  for (std::size_t p = 0; p + 1 < boundaries.size(); ++p) {
    const auto begin = weights.begin() + static_cast<std::ptrdiff_t>(boundaries[p]);
    const auto end = weights.begin() + static_cast<std::ptrdiff_t>(boundaries[p + 1]);
    text +=
        fmt::format("stage {:<4}  {}\n", p, begin == end ? "empty" : fmt::format("{}", fmt::join(begin, end, " + ")));
  }
  return text;
}

/// --layer-weights cuts a bare list: no model, no file, no environment, no nodes.
expected<void> check_flags_of_weights(const parser& reader) {
  std::vector<std::string> others = {"--config",  "--svg",       "--hostfile", "--include",
                                     "--exclude", "--num-nodes", "--num-slots"};
  for (const std::string_view name : taken) {
    if (name != "stages" && name != "partition" && name != "json") others.push_back(flag_name(*find_option(name)));
  }
  for (const data_option* each : all_data_options()) others.push_back(data_flag_name(each->name));
  const auto given = std::ranges::find_if(others, [&](const std::string& flag) { return reader.is_given(flag); });
  if (given == others.end()) return {};
  return fail(error_code::flags_contradict, fmt::format("--layer-weights and {}", *given),
              "a list of weights stands in place of a model, and is only cut", "leave one of them out");
}

/// Only --stages, --partition and --json count.
expected<std::string> plan_weights(const option_flags& flags, const std::string& listed) {
  const option& stages = *find_option("stages");
  const auto parts =
      TROUPE_TRY(parse_setting(stages, flags.given("stages").value_or("1"), {origin_kind::flag, "--stages"}));
  const auto method = TROUPE_TRY(parse_partition_method(flags.given("partition").value_or("balanced")));
  const auto weights = TROUPE_TRY(parse_weights(listed));
  return partition_weights(method, weights, static_cast<std::size_t>(std::get<std::int64_t>(parts.value)))
      .map([&](const part_boundaries& boundaries) {
        return flags.given("json") == "true" ? boundaries_json(boundaries) + "\n" : weights_text(weights, boundaries);
      });
}

stage_graph graph_of(const eval_options& options) {
  return make_chain(
      {.stages = options.stages, .replicas = options.replicas, .num_pipe_buffers = options.num_pipe_buffers});
}

/// Nothing without a hostfile.
expected<std::vector<node_slots>> nodes_of(const node_flags& flags) {
  const auto filter = TROUPE_TRY(flags.filter());
  if (!flags.hostfile()) {
    if (filter == node_filter{}) return std::vector<node_slots>{};
    return fail(error_code::missing_flag, "--hostfile", "nodes are chosen, and there are none", "add --hostfile FILE");
  }
  return read_hostfile(*flags.hostfile()).and_then([&](const std::vector<launch_node>& nodes) {
    return select_nodes(nodes, filter);
  });
}

expected<std::string> plan_model(const option_flags& flags, const std::string& svg_file,
                                 const std::vector<node_slots>& nodes) {
  const auto resolved = TROUPE_TRY(flags.resolve());
  TROUPE_TRY(check_model_given(resolved));
  TROUPE_TRY(ensure_resources(needs_of_command("plan", resolved.options.run.threads.value_or(1))));
  return make_plan(resolved.options, cores_to_use()).and_then([&](plan_report&& plan) -> expected<std::string> {
    if (!nodes.empty()) {
      TROUPE_TRY(place_plan(plan, nodes));
    }
    const stage_graph graph = graph_of(resolved.options);
    std::string text =
        resolved.options.json ? plan_json(plan) : plan_text(plan, output_width()) + "\n" + draw_text(graph);
    if (svg_file.empty()) return text;
    return atomic_write_file(svg_file, draw_svg(graph)).map([&] { return std::move(text); });
  });
}

}  // namespace

expected<exit_status> run_plan(const arguments& given) {
  parser reader("plan",
                "Show how a model would be cut: layers, parameters, balance and bubble; with --data also measured\n"
                "times and memory. Starts nothing. With --layer-weights, cut a bare list of numbers.",
                examples);
  const option_flags flags(reader, taken);
  std::string weights;
  reader.add_text("--layer-weights", weights, "Cut these numbers in place of a model's layers", "W,W,...");
  std::string svg_file;
  reader.add_text("--svg", svg_file, "Also draw the graph into this file", "FILE");
  const node_flags on_nodes(reader, "Place the stages on these nodes: lines NAME slots=N");
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  const bool is_bare = reader.is_given("--layer-weights");
  if (is_bare) {
    TROUPE_TRY(check_flags_of_weights(reader));
  }
  const auto nodes = TROUPE_TRY(nodes_of(on_nodes));
  return (is_bare ? plan_weights(flags, weights) : plan_model(flags, svg_file, nodes))
      .and_then([](const std::string& text) { return print(text); })
      .map([] { return exit_status::ok; });
}

}  // namespace troupe::cli
