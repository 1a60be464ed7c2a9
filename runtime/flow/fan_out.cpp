#include "runtime/flow/fan_out.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"

namespace troupe {

std::size_t fan_out::add_branch(branch_options options) {
  branches_.push_back({.options = options, .edges = {}});
  return branches_.size() - 1;
}

void fan_out::add_edge(std::size_t to, std::unique_ptr<edge_producer> edge) {
  branches_[to].edges.push_back({std::move(edge), false});
}

fan_out::outcome fan_out::send(std::span<activation> outputs, caller by) {
  const micro_batch_id id = outputs.front().id;
  if (half_sent_ != id) {
    half_sent_.reset();
    for (branch& each : branches_) each.pending = true;
  }
  for (bool again = true; again;) {
    again = false;
    for (branch& each : branches_) each.pending = each.pending && !all_closed(each);
    if (!has_room(outputs)) return outcome::no_credit;
    for (branch& each : branches_) {
      if (!each.pending) continue;
      const send_status status = send_on(each, outputs[each.options.port], by);
      // There was room a moment ago. The edge was lost meanwhile, or its other end is damaged.
      if (status == send_status::no_credit) return outcome::no_credit;
      each.pending = status == send_status::closed;
      again = again || each.pending;
      if (!each.pending) half_sent_ = id;
    }
  }
  const bool any_sent = half_sent_.has_value();
  half_sent_.reset();
  return any_sent ? outcome::sent : outcome::all_closed;
}

bool fan_out::has_room(std::span<const activation> outputs) const {
  const micro_batch_id id = outputs.front().id;
  const bool begun = half_sent_ == id;
  return std::ranges::all_of(branches_, [&](const branch& each) {
    const bool has_its_part = begun && !each.pending;
    return has_its_part || all_closed(each) || choose(each, id);
  });
}

send_status fan_out::send_on(branch& on, activation& output, caller by) {
  const auto replica = choose(on, output.id);
  if (!replica) return send_status::no_credit;
  edge_state& edge = on.edges[*replica];
  const auto send = [&](activation& message) {
    return by == caller::has_time ? edge.producer->try_send_now(message) : edge.producer->try_send(message);
  };
  send_status status = send_status::closed;
  if (branches_.size() == 1) {
    status = send(output);
  } else {
    activation copy = output;
    status = send(copy);
  }
  edge.closed = status == send_status::closed;
  if (status == send_status::sent) on.last = *replica;
  return status;
}

std::optional<std::size_t> fan_out::choose(const branch& among, micro_batch_id id) {
  if (among.options.fixed_replica) {
    const std::size_t replica = id.index % among.edges.size();
    if (!among.edges[replica].producer->has_credit()) return std::nullopt;
    return replica;
  }
  if (among.edges.size() == 1) {
    const edge_state& only = among.edges.front();
    return only.closed || !only.producer->has_credit() ? std::nullopt : std::optional<std::size_t>(0);
  }
  std::optional<std::size_t> best;
  std::uint32_t most = 0;
  for (std::size_t tried = 1; tried <= among.edges.size(); ++tried) {
    const std::size_t replica = (among.last + tried) % among.edges.size();
    if (among.edges[replica].closed) continue;
    const std::uint32_t credits = among.edges[replica].producer->credits();
    if (credits <= most) continue;
    most = credits;
    best = replica;
  }
  return best;
}

/// Where replicas are fixed, one closed replica closes the branch: no other replica may get its ids.
bool fan_out::all_closed(const branch& among) {
  const auto closed = [](const edge_state& each) { return each.closed; };
  return among.options.fixed_replica ? std::ranges::any_of(among.edges, closed)
                                     : std::ranges::all_of(among.edges, closed);
}

void fan_out::send_flush(call_number call) noexcept {
  for (branch& each : branches_) {
    for (edge_state& edge : each.edges) edge.producer->send_flush(call);
  }
}

void fan_out::abandon() noexcept {
  for (branch& each : branches_) {
    for (edge_state& edge : each.edges) edge.producer->abandon();
  }
  branches_.clear();
}

void fan_out::close() noexcept {
  for (branch& each : branches_) {
    for (edge_state& edge : each.edges) edge.producer->close();
  }
}

}  // namespace troupe
