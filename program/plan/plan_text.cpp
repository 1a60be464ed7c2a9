#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "program/plan/plan_report.hpp"
#include "runtime/report/text_table.hpp"

namespace troupe {
namespace {

using align = text_table::align;

constexpr double mib = 1024.0 * 1024.0;
constexpr std::size_t bar_columns = 20;

std::string mib_text(std::uint64_t bytes) {
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / mib);
}

std::string plural(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : what.ends_with("ch") ? "es" : "s");
}

double load(const planned_stage& stage) {
  return stage.seconds.value_or(static_cast<double>(stage.parameters));
}

std::string bar(double part) {
  std::string text;
  for (std::size_t i = 0; i < bar_columns; ++i) {
    if (static_cast<double>(i) + 0.5 <= part * static_cast<double>(bar_columns)) text += "█";
  }
  return text;
}

/// What other methods would have cost, in one line; those that cut alike are left out.
std::string other_methods(const plan_report& plan) {
  std::string text;
  for (const method_cost& other : plan.methods) {
    if (other.boundaries == plan.methods.front().boundaries) continue;
    text += fmt::format("{}{} {:.4g} ms, {}", text.empty() ? "" : "; ", other.method, 1e3 * other.slowest_seconds,
                        bytes_text(other.bytes));
  }
  return text;
}

std::string summary(const plan_report& plan, std::size_t width) {
  text_table table({align::left, align::left});
  table.add({"model", plan.model});
  if (!plan.data.empty()) table.add({"data", plan.data});
  table.add(
      {"pipeline", fmt::format("{} x {}, micro-batch {}, {} per stage", plural(plan.stages.size(), "stage"),
                               plural(plan.replicas, "replica"), plan.micro_batch, plural(plan.threads, "thread"))});
  table.add({"partition",
             plan.partition == plan.cut_by ? plan.partition : fmt::format("{}, here {}", plan.partition, plan.cut_by)});
  table.add({"boundaries", fmt::format("{}", fmt::join(plan.boundaries, ","))});
  if (!plan.bits_depend_on.empty()) {
    table.add({"bits", plan.bits_depend_on == "nothing" ? "of a sample do not depend on micro-batch size and threads"
                                                        : "of a sample may depend on " + plan.bits_depend_on});
  }
  if (!plan.methods.empty()) {
    const method_cost& here = plan.methods.front();
    table.add(
        {"slowest", fmt::format("{:.4g} ms, {} cross the cuts", 1e3 * here.slowest_seconds, bytes_text(here.bytes))});
    const std::string others = other_methods(plan);
    if (!others.empty()) table.add({"others", others});
  }
  for (const std::string& each : plan.notes) table.add({"optimize", each});
  for (const std::string& each : plan.warnings) table.add({"WARNING", each});
  const char* basis = plan.micro_batches ? "measured time" : "parameters; with --data by measured time";
  if (plan.balance) table.add({"balance", fmt::format("{:.3f} (mean / slowest stage, by {})", *plan.balance, basis)});
  if (plan.bubble) {
    table.add({"bubble", fmt::format("{:.2f} % of the time of {}", 100 * *plan.bubble,
                                     plural(*plan.micro_batches, "micro-batch"))});
  } else {
    table.add(
        {"bubble", fmt::format("{} / (M + {}) for M micro-batches", plan.stages.size() - 1, plan.stages.size() - 1)});
  }
  if (plan.memory_bytes) table.add({"memory", mib_text(*plan.memory_bytes) + " at the most, weights and activations"});
  if (plan.crossing_bytes) {
    table.add({"between nodes", fmt::format("{} bytes per micro-batch", *plan.crossing_bytes)});
  }
  return table.text(width);
}

std::string cuts_text(const plan_report& plan, std::size_t width) {
  text_table table({align::right, align::left});
  table.add({"cut before layer", "what crosses with a micro-batch"});
  for (const planned_cut& each : plan.cuts) table.add({fmt::format("{}", each.layer), crossing_text(each.values)});
  return table.text(width);
}

std::string nodes_text(const plan_report& plan, std::size_t width) {
  text_table table({align::left, align::right, align::left});
  table.add({"node", "slots", "rank: stage, replica"});
  for (const planned_node& node : plan.nodes) {
    std::vector<std::string> ranks;
    for (const planned_rank& each : node.ranks) {
      ranks.push_back(plan.replicas == 1 ? fmt::format("{}: {}", each.rank, each.stage)
                                         : fmt::format("{}: {}, {}", each.rank, each.stage, each.replica));
    }
    table.add(
        {node.name, fmt::format("{}", node.slots), ranks.empty() ? "-" : fmt::format("{}", fmt::join(ranks, "; "))});
  }
  return table.text(width);
}

}  // namespace

std::string plan_text(const plan_report& plan, std::size_t width) {
  text_table table({align::right, align::right, align::right, align::right, align::right, align::left, align::left});
  table.add({"stage", "parameters", "weights", "activations", "forward", "load", "layers"});
  double largest = 0;
  for (const planned_stage& each : plan.stages) largest = std::max(largest, load(each));
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const planned_stage& each = plan.stages[s];
    table.add({fmt::format("{}", s), fmt::format("{}", each.parameters), mib_text(each.weight_bytes),
               each.activation_bytes ? mib_text(*each.activation_bytes) : "-",
               each.seconds ? fmt::format("{:.3f} ms", 1e3 * *each.seconds) : "-",
               bar(largest > 0 ? load(each) / largest : 0), listed(each.layers)});
  }
  std::string text = fmt::format("{}\n{}", summary(plan, width), table.text(width));
  if (!plan.cuts.empty()) text += "\n" + cuts_text(plan, width);
  if (!plan.nodes.empty()) text += "\n" + nodes_text(plan, width);
  return text;
}

}  // namespace troupe
