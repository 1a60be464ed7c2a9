#include "runtime/fault/fault_table.hpp"

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe {
namespace {

using k = fault_kind;
using t = fault_target_kind;
using w = fault_trigger_kind;
using p = fault_parameter;

constexpr kind_set<p> no_parameter{};
constexpr auto of_messages = set_of(t::edge, t::control);
constexpr auto at_messages = set_of(w::always, w::message, w::time, w::probability);
constexpr auto at_passes = set_of(w::micro_batch, w::probability, w::backward);
constexpr auto at_work = set_of(w::micro_batch, w::probability, w::backward, w::vote, w::decision, w::recovery);
constexpr auto at_signals =
    set_of(w::micro_batch, w::time, w::probability, w::backward, w::vote, w::decision, w::apply, w::recovery);

constexpr std::array rows = {
    fault_row{k::kill, "kill", set_of(t::stage, t::worker, t::loader, t::aggregator, t::agent, t::node, t::driver),
              at_signals, no_parameter, no_parameter},
    fault_row{k::stop, "stop", set_of(t::stage, t::worker, t::agent, t::node), at_signals, set_of(p::lasts),
              no_parameter},
    fault_row{k::exit, "exit", set_of(t::stage, t::worker), at_work, no_parameter, no_parameter},
    fault_row{k::throw_error, "throw", set_of(t::stage), at_passes, no_parameter, no_parameter},
    fault_row{k::delay, "delay", of_messages, at_messages, set_of(p::lasts, p::delay, p::jitter), set_of(p::delay)},
    fault_row{k::drop, "drop", of_messages, at_messages, set_of(p::lasts), no_parameter},
    fault_row{k::duplicate, "duplicate", of_messages, at_messages, set_of(p::lasts), no_parameter},
    fault_row{k::reorder, "reorder", of_messages, at_messages, set_of(p::lasts), no_parameter},
    fault_row{k::corrupt, "corrupt", of_messages, at_messages, set_of(p::lasts), no_parameter},
    fault_row{k::truncate, "truncate", of_messages, at_messages, set_of(p::lasts), no_parameter},
    fault_row{k::partition, "partition", set_of(t::edge, t::control, t::agent, t::node),
              set_of(w::always, w::micro_batch, w::message, w::time), set_of(p::lasts), no_parameter},
    fault_row{k::half_open, "half_open", of_messages, at_messages, set_of(p::lasts, p::direction),
              set_of(p::direction)},
    fault_row{k::close, "close", of_messages, at_messages, set_of(p::direction), no_parameter},
    fault_row{k::slow, "slow", set_of(t::stage),
              set_of(w::always, w::micro_batch, w::probability, w::backward, w::vote, w::decision),
              set_of(p::delay, p::jitter), set_of(p::delay)},
    fault_row{k::disk_full, "disk_full", set_of(t::journal), set_of(w::micro_batch, w::time), set_of(p::bytes),
              no_parameter},
    fault_row{k::out_of_memory, "out_of_memory", set_of(t::stage), at_passes, set_of(p::bytes), no_parameter},
};

struct target_words {
  std::string_view key;
  std::string_view phrase;
};
constexpr std::array target_names = {
    target_words{"stage", "a stage"},
    target_words{"edge", "an edge"},
    target_words{"control", "control messages"},
    target_words{"loader", "the loader"},
    target_words{"aggregator", "the aggregator"},
    target_words{"worker", "a worker"},
    target_words{"agent", "an agent"},
    target_words{"node", "a node"},
    target_words{"driver", "the driver"},
    target_words{"journal", "the journal"},
};
constexpr std::array<std::string_view, 5> parameter_names = {"for", "ms", "jitter", "bytes", "direction"};

std::string targets_text(const fault_row& row) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < target_names.size(); ++i) {
    if (row.targets.has(static_cast<t>(i))) names.push_back(target_names.at(i).key);
  }
  return fmt::format("{} is for: {}", row.name, fmt::join(names, ", "));
}

bool is_place(const fault_target& who) {
  return who.kind == t::agent || who.kind == t::node;
}

/// Loader, aggregator and driver draw no lots; only a stage and its worker compute; agents and nodes pass no messages
/// that could be counted.
bool suits(const fault_target& who, w when) {
  const bool computes = who.kind == t::stage || who.kind == t::worker;
  const bool passes_messages = who.kind == t::edge || who.kind == t::control;
  const bool hears_of_decisions = who.kind == t::loader || who.kind == t::aggregator || who.kind == t::driver;
  if (is_place(who)) return when == w::micro_batch || when == w::time;
  if (when == w::micro_batch) return !passes_messages;
  if (when == w::vote || when == w::decision) return computes || hears_of_decisions;
  if (is_moment_of_step(when)) return computes;
  return when != w::probability || computes || passes_messages;
}

/// Agents, nodes and the journal count micro-batches, and do not know of which step they are.
bool may_name_step(const fault& one) {
  if (is_moment_of_step(one.when.kind)) return true;
  return one.when.kind == w::micro_batch && (one.who.kind == t::stage || one.who.kind == t::worker);
}

std::string triggers_text(const fault_row& row, const fault_target& who) {
  constexpr std::array<std::pair<w, std::string_view>, 10> all = {{{w::micro_batch, "at=mb17"},
                                                                   {w::message, "at=msg3"},
                                                                   {w::time, "at=2.5s"},
                                                                   {w::probability, "p=0.1"},
                                                                   {w::always, "neither at nor p"},
                                                                   {w::backward, "at=backward17"},
                                                                   {w::vote, "at=vote"},
                                                                   {w::decision, "at=decision"},
                                                                   {w::apply, "at=apply"},
                                                                   {w::recovery, "at=recovery"}}};
  std::vector<std::string_view> spellings;
  for (const auto& [when, spelling] : all) {
    if (row.triggers.has(when) && suits(who, when)) spellings.push_back(spelling);
  }
  return fmt::format("give {} one of: {}", row.name, fmt::join(spellings, ", "));
}

std::optional<fault_objection> object_to_target(const fault_row& row, const fault_target& who) {
  if (!row.targets.has(who.kind)) {
    return fault_objection{fault_part::target, fmt::format("there is no {} of {}", row.name, target_phrase(who.kind)),
                           targets_text(row)};
  }
  const bool is_named = who.kind == t::stage || who.kind == t::edge || who.kind == t::control || is_place(who);
  if ((is_named && who.name.empty()) || (who.kind == t::edge && who.to.empty())) {
    return fault_objection{fault_part::target, fmt::format("{} has no name", target_phrase(who.kind)), {}};
  }
  if ((who.name + who.to).find_first_of(",=:;") != std::string::npos) {
    return fault_objection{fault_part::target, "a name with one of , ; : =", "give it another name"};
  }
  if (who.replica && who.kind != t::stage) {
    return fault_objection{fault_part::replica, fmt::format("{} has no replicas", target_phrase(who.kind)), {}};
  }
  return std::nullopt;
}

std::optional<double> in_seconds(std::optional<std::chrono::nanoseconds> time) {
  return time ? std::optional(std::chrono::duration<double>(*time).count()) : std::nullopt;
}

bool is_within(double value, double most) {
  return value >= 0 && value <= most;
}

std::optional<fault_objection> object_to_trigger(const fault_row& row, const fault& one) {
  const fault_trigger& when = one.when;
  if (!row.triggers.has(when.kind) || !suits(one.who, when.kind)) {
    return fault_objection{fault_part::trigger,
                           when.kind == w::always ? fmt::format("{} needs a moment", row.name)
                                                  : fmt::format("{} of {} cannot have this trigger", row.name,
                                                                target_phrase(one.who.kind)),
                           triggers_text(row, one.who)};
  }
  if (when.kind == w::probability && !(when.probability > 0 && when.probability <= 1)) {
    return fault_objection{fault_part::trigger, "a probability is above 0 and at most 1", {}};
  }
  if (when.kind == w::time && !is_within(*in_seconds(when.after), limits::deadline_seconds_max)) {
    return fault_objection{fault_part::trigger, "seconds are from 0 to 31622400", {}};
  }
  if (when.step && !may_name_step(one)) {
    return fault_objection{fault_part::trigger,
                           fmt::format("{} of {} at this moment is in no step", row.name, target_phrase(one.who.kind)),
                           "leave step= out, or give a stage a moment of a step: at=mb17, at=backward17, at=vote, "
                           "at=decision, at=apply, at=recovery"};
  }
  if (when.kind == w::message && when.number == 0) {
    return fault_objection{fault_part::trigger, "messages are counted from 1", {}};
  }
  return std::nullopt;
}

struct given_parameter {
  p which;
  fault_part part;
  std::optional<double> value;
};

/// A frozen node would outlive its launch; a partition without an end is its loss.
std::optional<fault_objection> object_to_time(const fault_row& row, const fault& one) {
  if (!is_place(one.who) || one.kind == k::kill) return std::nullopt;
  constexpr std::chrono::duration<double> most = limits::fault_of_node_time_max;
  if (one.lasts && *one.lasts <= most) return std::nullopt;
  return fault_objection{
      one.lasts ? fault_part::lasts : fault_part::kind,
      fmt::format("{} of {} must end, within {} s", row.name, target_phrase(one.who.kind), most.count()),
      "add for=20s, which outlasts --worker-timeout, or use kill"};
}

std::optional<fault_objection> object_to_parameters(const fault_row& row, const fault& one) {
  if (auto found = object_to_time(row, one)) return found;
  const auto bytes = one.bytes ? std::optional(static_cast<double>(*one.bytes)) : std::nullopt;
  const auto way = one.direction ? std::optional(static_cast<double>(*one.direction)) : std::nullopt;
  for (const given_parameter& each : {given_parameter{p::lasts, fault_part::lasts, in_seconds(one.lasts)},
                                      given_parameter{p::delay, fault_part::delay, in_seconds(one.delay)},
                                      given_parameter{p::jitter, fault_part::jitter, in_seconds(one.jitter)},
                                      given_parameter{p::bytes, fault_part::bytes, bytes},
                                      given_parameter{p::direction, fault_part::direction, way}}) {
    const std::string_view name = parameter_name(each.which);
    if (!each.value && row.required.has(each.which)) {
      return fault_objection{
          fault_part::kind, fmt::format("{} needs {}=", row.name, name),
          each.which == p::direction ? "add direction=forward or direction=back" : fmt::format("add {}=50", name)};
    }
    if (each.value && !row.parameters.has(each.which)) {
      return fault_objection{each.part, fmt::format("{} does not take {}=", row.name, name), "leave it out"};
    }
    const double most = each.which == p::bytes ? 9007199254740992.0 : limits::deadline_seconds_max;
    if (each.value && !is_within(*each.value, most)) {
      return fault_objection{
          each.part, fmt::format("{}= is from 0 to {:.0f}{}", name, most, each.which == p::bytes ? "" : " s"), {}};
    }
  }
  return std::nullopt;
}

}  // namespace

std::span<const fault_row> all_fault_rows() {
  return rows;
}

const fault_row& row_of(fault_kind kind) {
  const auto at = static_cast<std::size_t>(kind);
  TROUPE_CHECK(at < rows.size() && rows.at(at).kind == kind, "a row for every kind, in their order");
  return rows.at(at);
}

bool is_moment_of_step(fault_trigger_kind kind) {
  return kind >= fault_trigger_kind::backward;
}

std::string_view moment_name(fault_trigger_kind kind) {
  constexpr std::array<std::string_view, 5> names = {"backward", "vote", "decision", "apply", "recovery"};
  return names.at(static_cast<std::size_t>(kind) - static_cast<std::size_t>(fault_trigger_kind::backward));
}

std::string_view fault_name(fault_kind kind) {
  return row_of(kind).name;
}
std::string_view fault_target_name(fault_target_kind kind) {
  return target_names.at(static_cast<std::size_t>(kind)).key;
}
std::string_view target_phrase(fault_target_kind kind) {
  return target_names.at(static_cast<std::size_t>(kind)).phrase;
}
std::string_view direction_name(fault_direction which) {
  return which == fault_direction::forward ? "forward" : "back";
}
std::string_view parameter_name(fault_parameter which) {
  return parameter_names.at(static_cast<std::size_t>(which));
}

std::optional<fault_objection> objection_to(const fault& one) {
  const fault_row& row = row_of(one.kind);
  if (auto found = object_to_target(row, one.who)) return found;
  if (auto found = object_to_trigger(row, one)) return found;
  return object_to_parameters(row, one);
}

}  // namespace troupe
