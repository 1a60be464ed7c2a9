#include "runtime/fault/fault_shape.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/fault/fault_table.hpp"
#include "runtime/suggest/dotted_name.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {
namespace {

using kind = fault_target_kind;

/// check_fits() knows where the fault is written.
tl::unexpected<error> misfit(std::string cause, std::string fix = {}) {
  return fail(error_code::fault_invalid, {}, std::move(cause), std::move(fix));
}

std::vector<std::string> stage_names(const fault_shape& shape) {
  std::vector<std::string> names;
  for (const fault_shape::node& each : shape.stages) names.push_back(dotted_name(each.name));
  return names;
}

expected<void> check_stage(const fault& one, const fault_shape& shape) {
  const auto found = find_stage(shape, one.who.name);
  if (!found) {
    return misfit(fmt::format("the run has no stage \"{}\"", one.who.name),
                  suggest_fix(dotted_name(one.who.name), stage_names(shape)));
  }
  const fault_shape::node& stage = shape.stages[*found];
  if (one.who.replica.value_or(0) >= stage.replicas) {
    return misfit(fmt::format("{} has {} replicas, counted from 0", stage.name, stage.replicas), "name one of these");
  }
  if (!stage.in_process && needs_process(one)) {
    return misfit(fmt::format("{} has no process of its own", stage.name), "run it with --processes (workers.enabled)");
  }
  return {};
}

expected<void> check_edge(const fault& one, const fault_shape& shape) {
  const auto is_it = [&](const std::pair<std::string, std::string>& edge) {
    const auto named = [&](const std::string& name, const std::string& end) {
      const auto found = find_stage(shape, name);
      return name == end || (found && shape.stages[*found].name == end);
    };
    return named(one.who.name, edge.first) && named(one.who.to, edge.second);
  };
  const auto in_process = [&](const std::string& end) {
    const auto found = find_stage(shape, end);
    return found && shape.stages[*found].in_process;
  };
  if (std::any_of(shape.edges.begin(), shape.edges.end(), is_it)) {
    if (in_process(one.who.name) || in_process(one.who.to)) return {};
    return misfit("both ends of the edge are in one process, and nothing travels",
                  "run it with --processes (workers.enabled)");
  }
  std::vector<std::string> known;
  for (const auto& [from, to] : shape.edges) known.push_back(dotted_name(from) + "-" + dotted_name(to));
  return misfit("the run has no such edge", suggest_fix(dotted_name(one.who.name + "-" + one.who.to), known));
}

expected<void> check_worker(const fault& one, const fault_shape& shape) {
  if (shape.workers == 0) return misfit("the run has no worker processes", "run it with --processes (workers.enabled)");
  if (one.who.rank < shape.workers) return {};
  return misfit(fmt::format("the run starts {} workers, ranks from 0", shape.workers), "name one of these");
}

expected<void> check_place(const fault& one, const fault_shape& shape) {
  if (shape.places.empty()) return misfit("the run has no nodes", "start it with troupe launch");
  const auto found = std::ranges::find(shape.places, one.who.name, &fault_shape::place::name);
  if (found == shape.places.end()) {
    std::vector<std::string> names;
    names.reserve(shape.places.size());
    for (const fault_shape::place& each : shape.places) names.push_back(each.name);
    return misfit(fmt::format("the launch has no node \"{}\"", one.who.name), suggest_fix(one.who.name, names));
  }
  if (!found->has_driver) return {};
  return misfit("the driver lives there", "kill:driver, faults of worker=, or of each other node");
}

/// A training keeps its journal beside its checkpoints.
expected<void> check_journal(const fault_shape& shape) {
  if (shape.has_journal) return {};
  return misfit("the run has no journal",
                shape.trains ? "add --save DIR (training_engine_options::journal)" : "add --journal FILE");
}

expected<void> check_moment(const fault& one, const fault_shape& shape) {
  if (!shape.trains && (is_moment_of_step(one.when.kind) || one.when.step)) {
    return misfit("the run has no steps, as it trains nothing", "give it a moment of an evaluation, such as at=mb17");
  }
  if (one.when.step && shape.steps != 0 && *one.when.step >= shape.steps) {
    return misfit(fmt::format("the run has {} steps, counted from 0", shape.steps), "name one of these");
  }
  const bool is_forward = one.when.kind == fault_trigger_kind::micro_batch;
  // Between steps a training evaluates any number of micro-batches.
  const bool has_bound =
      one.when.kind == fault_trigger_kind::backward || (is_forward && (!shape.trains || one.when.step));
  if (!has_bound || shape.micro_batches == 0 || one.when.number < shape.micro_batches) return {};
  if (shape.trains) {
    return misfit(fmt::format("a step has {} micro-batches, counted from 0", shape.micro_batches), "name one of these");
  }
  return misfit(fmt::format("the run has {} micro-batches, counted from 0", shape.micro_batches),
                "name one of these, or evaluate more samples");
}

expected<void> check_fault(const fault& one, const fault_shape& shape) {
  switch (one.who.kind) {
    case kind::stage:
    case kind::control:
      return check_stage(one, shape);
    case kind::edge:
      return check_edge(one, shape);
    case kind::worker:
      return check_worker(one, shape);
    case kind::agent:
    case kind::node:
      return check_place(one, shape);
    case kind::journal:
      return check_journal(shape);
    default:
      return {};
  }
}

}  // namespace

std::optional<std::size_t> find_stage(const fault_shape& shape, const std::string& name) {
  const auto found = std::find_if(shape.stages.begin(), shape.stages.end(),
                                  [&](const fault_shape::node& each) { return each.name == name; });
  if (found != shape.stages.end()) return static_cast<std::size_t>(found - shape.stages.begin());
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = problem == std::errc{} && end == name.data() + name.size() && number < shape.stages.size();
  return is_number ? std::optional(number) : std::nullopt;
}

bool is_of_body(const fault& one) {
  return (one.who.kind == kind::stage || one.who.kind == kind::worker) && one.when.kind != fault_trigger_kind::time;
}

bool is_of_messages(const fault& one) {
  return one.who.kind == kind::edge || one.who.kind == kind::control;
}

bool is_once(const fault& one) {
  return one.when.kind == fault_trigger_kind::micro_batch || one.when.kind == fault_trigger_kind::message ||
         one.when.kind == fault_trigger_kind::time || is_moment_of_step(one.when.kind);
}

bool is_of_first_replica(const fault& one) {
  const bool is_counted =
      one.when.kind == fault_trigger_kind::micro_batch || one.when.kind == fault_trigger_kind::message;
  return one.who.kind == kind::edge && is_counted;
}

bool has_edge_faults(const fault_plan& plan) {
  return std::any_of(plan.faults().begin(), plan.faults().end(),
                     [](const fault& one) { return one.who.kind == kind::edge; });
}

bool corrupts_edges(const fault_plan& plan) {
  return std::any_of(plan.faults().begin(), plan.faults().end(), [](const fault& one) {
    const bool damages = one.kind == fault_kind::corrupt || one.kind == fault_kind::truncate;
    return one.who.kind == kind::edge && damages;
  });
}

bool breaks_messages(const fault& one) {
  switch (one.kind) {
    case fault_kind::drop:
      return one.who.kind == kind::edge;  // a link says a message again
    case fault_kind::corrupt:
    case fault_kind::truncate:
    case fault_kind::partition:
    case fault_kind::half_open:
    case fault_kind::close:
      return one.who.kind == kind::edge || one.who.kind == kind::control;
    default:
      return false;
  }
}

bool needs_process(const fault& one) {
  switch (one.kind) {
    case fault_kind::kill:
    case fault_kind::stop:
    case fault_kind::exit:
      return one.who.kind == kind::stage || one.who.kind == kind::worker;
    default:
      return one.who.kind == kind::control;
  }
}

expected<void> check_fits(const fault_plan& plan, const fault_shape& shape) {
  TROUPE_TRY(plan.check());
  for (std::size_t number = 0; number < plan.faults().size(); ++number) {
    const fault& one = plan.faults()[number];
    auto fine = check_fault(one, shape).and_then([&] { return check_moment(one, shape); });
    if (fine) continue;
    fine.error().where = plan.where(number);
    return fine;
  }
  return {};
}

}  // namespace troupe
