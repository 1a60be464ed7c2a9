#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "testing/simulation/given_plan.hpp"
#include "testing/simulation/graph_wiring.hpp"
#include "testing/simulation/world.hpp"
#include <troupe/simulation.hpp>

namespace troupe::simulation {

struct network::parts {
  struct node {
    std::string name;
    node_sort sort = node_sort::stage;
    make_forward code = nullptr;
    std::vector<std::string> cases = {"out"};
    std::function<std::size_t(std::uint64_t)> choose = nullptr;
    node_options options = {};
  };
  std::vector<node> nodes;
  std::vector<std::string> sinks;
};

network::network() : parts_(std::make_unique<parts>()) {}
network::network(const network& other) : parts_(std::make_unique<parts>(*other.parts_)) {}
network& network::operator=(const network& other) {
  *parts_ = *other.parts_;
  return *this;
}
network::~network() = default;

network& network::stage(std::string name, make_forward code, node_options options) {
  parts_->nodes.push_back({.name = std::move(name), .code = std::move(code), .options = std::move(options)});
  return *this;
}

network& network::join(std::string name, std::vector<std::string> from, node_options options) {
  options.from = std::move(from);
  parts_->nodes.push_back({.name = std::move(name), .sort = node_sort::join, .options = std::move(options)});
  return *this;
}

network& network::route(std::string name, std::vector<std::string> cases,
                        std::function<std::size_t(std::uint64_t sample)> choose, node_options options) {
  parts_->nodes.push_back({.name = std::move(name),
                           .sort = node_sort::route,
                           .cases = std::move(cases),
                           .choose = std::move(choose),
                           .options = std::move(options)});
  return *this;
}

network& network::sink(std::string from) {
  parts_->sinks.push_back(std::move(from));
  return *this;
}

namespace {

using described_node = network::parts::node;

tl::unexpected<error> no_network(const std::string& where, const std::string& cause) {
  return fail(error_code::topology_invalid, where, cause, "add nodes behind those that they take from, by these names");
}

/// "node" or "node.case"; a name may have a dot itself.
expected<outlet> find_outlet(const std::vector<described_node>& before, const std::string& text,
                             const std::string& for_whom) {
  for (std::uint32_t at = 0; at < before.size(); ++at) {
    const described_node& one = before[at];
    if (one.name == text && one.cases.size() == 1) return outlet{at, 0};
    for (std::uint32_t port = 0; port < one.cases.size(); ++port) {
      if (one.name + "." + one.cases[port] == text) return outlet{at, port};
    }
  }
  return no_network(for_whom, "takes from \"" + text + "\", and no node or case of that name was added before");
}

expected<std::vector<outlet>> inputs_of(const std::vector<described_node>& before, const described_node& of) {
  std::vector<outlet> found;
  for (const std::string& each : of.options.from) {
    const auto one = TROUPE_TRY(find_outlet(before, each, of.name));
    found.push_back(one);
  }
  if (!found.empty()) return found;
  if (before.empty()) return std::vector<outlet>{{}};
  return find_outlet(before, before.back().name, of.name).map([](const outlet& one) { return std::vector{one}; });
}

std::shared_ptr<const node_code> code_of(const described_node& of) {
  if (!of.code && !of.choose) return nullptr;
  return std::make_shared<const node_code>(node_code{of.code, of.choose});
}

expected<graph_plan> graph_of(const network::parts& of) {
  graph_plan made;
  std::vector<described_node> before;
  for (const described_node& each : of.nodes) {
    auto inputs = TROUPE_TRY(inputs_of(before, each));
    made.nodes.push_back({.sort = each.sort,
                          .replicas = each.options.replicas,
                          .pipe_buffers = each.options.num_pipe_buffers.value_or(0),
                          .ordered = each.options.ordered,
                          .outputs = static_cast<std::uint32_t>(each.cases.size()),
                          .inputs = std::move(inputs),
                          .name = each.name,
                          .code = code_of(each)});
    before.push_back(each);
  }
  for (const std::string& each : of.sinks) {
    const auto scored = TROUPE_TRY(find_outlet(of.nodes, each, "a sink"));
    made.sinks.push_back(scored);
  }
  const auto last = static_cast<std::uint32_t>(made.nodes.size());
  for (std::uint32_t port = 0; of.sinks.empty() && last > 0 && port < made.nodes.back().outputs; ++port) {
    made.sinks.push_back({last - 1, port});
  }
  return validate(stated(made)).map([&] { return std::move(made); });
}

expected<void> check(const settings& how) {
  const bool fits = !how.micro_batches.empty() && how.micro_batches.size() <= settings::calls_max &&
                    std::ranges::all_of(how.micro_batches,
                                        [](std::uint64_t count) { return count <= settings::micro_batches_max; }) &&
                    how.forward_us > 0 && how.forward_us <= settings::forward_us_max &&
                    (!how.journal || how.micro_batches.size() == 1);
  if (fits) return {};
  return fail(error_code::value_out_of_range, "settings", "a number is out of range",
              "take the ranges of troupe/simulation.hpp, and one call for a journal");
}

expected<plan> plan_of(const network& what, const settings& how) {
  TROUPE_TRY(check(how));
  auto graph = TROUPE_TRY(graph_of(what.described()));
  plan made{.slots_from_loader = 4, .slots_between = 4, .calls = how.micro_batches, .forward_us = how.forward_us};
  made.graph = std::move(graph);
  made.has_journal = how.journal;
  if (how.plan.empty()) return made;
  return in_virtual_time(how.plan, made).map([&](std::vector<fault>&& faults) {
    made.loses_edges = true;
    made.faults = std::move(faults);
    return std::move(made);
  });
}

plan drawn(plan of, std::uint64_t seed, const settings& how) {
  of.seed = seed;
  if (how.faults && of.faults.empty()) draw_disturbances(of);
  return of;
}

/// A number of a stage behind `mark` becomes its name.
std::string with_names(std::string text, const graph_plan& graph, const std::string& mark) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    std::size_t end = begin;
    std::size_t number = 0;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') {
      number = 10 * number + static_cast<std::size_t>(text[end++] - '0');
    }
    if (end > begin && number < graph.nodes.size()) text.replace(begin, end - begin, graph.nodes[number].name);
  }
  return text;
}

outcome outcome_of(const plan& what, const run_report& report) {
  outcome made{.seed = report.seed,
               .trace_hash = report.trace_hash,
               .steps = report.steps,
               .seconds = report.seconds,
               .ended = report.ended,
               .difference = with_names(report.wrong, what.graph, "stage ")};
  for (const fault& each : what.faults) made.faults.push_back(with_names(describe(each), what.graph, "stage="));
  return made;
}

}  // namespace

expected<outcome> simulate(const network& what, std::uint64_t seed, const settings& how) {
  const auto undisturbed = TROUPE_TRY(plan_of(what, how));
  const plan now = drawn(undisturbed, seed, how);
  return outcome_of(now, simulator{}.run(now));
}

expected<std::optional<finding>> find_failure(const network& what, std::uint64_t first_seed, std::uint64_t last_seed,
                                              const settings& how) {
  const auto undisturbed = TROUPE_TRY(plan_of(what, how));
  if (last_seed < first_seed) {
    return fail(error_code::value_out_of_range, "find_failure",
                fmt::format("seeds {} to {} are none", first_seed, last_seed), "give the first seed first");
  }
  simulator world;
  for (std::uint64_t seed = first_seed; seed <= last_seed && seed >= first_seed; ++seed) {
    const plan now = drawn(undisturbed, seed, how);
    const run_report report = world.run(now);
    if (report.wrong.empty()) continue;
    const plan least = with_faults(now, shrink(world, now));
    return finding{outcome_of(now, report), outcome_of(least, world.run(least))};
  }
  return std::nullopt;
}

std::string explain(const finding& what) {
  std::string text = fmt::format("seed {} fails with {} faults; the fewest that it takes:\n", what.first.seed,
                                 what.first.faults.size());
  for (const std::string& each : what.least.faults) text += "  " + each + '\n';
  if (what.least.faults.empty()) text += "  none\n";
  return text + what.least.difference + '\n';
}

}  // namespace troupe::simulation
