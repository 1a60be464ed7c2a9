#include "actors/workers/driver_orders.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "messages/limits.hpp"
#include "runtime/edge/tcp/edge_key.hpp"

namespace troupe {
namespace {

expected<void> within(const char* field, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (least <= value && value <= most) return {};
  return fail(error_code::wire_malformed, field,
              std::to_string(value) + " is not within " + std::to_string(least) + " and " + std::to_string(most),
              "run the same version of Troupe everywhere");
}

bool names_a_stage(const wiring_plan& plan, stage_address at) {
  return at.stage < plan.nodes.size() && plan.nodes[at.stage].kind != node_kind::source &&
         at.replica < plan.nodes[at.stage].replicas;
}

}  // namespace

expected<void> driver_orders::check(const worker_assignment& said) const {
  if (!names_a_stage(plan_, said.address)) {
    return fail(error_code::wire_malformed, "worker_assignment.address", "this run has no such stage",
                "run the same version of Troupe everywhere");
  }
  const std::uint64_t secret_words = has_tcp_edges_ ? edge_secret{}.size() : 0;
  auto fine = within("worker_assignment.prefetch_slots", said.prefetch_slots, 1, limits::pipe_buffers_max);
  if (fine) fine = within("worker_assignment.stage_slots", said.stage_slots, 1, limits::pipe_buffers_max);
  if (fine) fine = within("worker_assignment.threads", said.threads, 1, limits::threads_max);
  if (fine) fine = within("worker_assignment.boundaries", said.boundaries.size(), 0, limits::stages_max + 1);
  if (fine) fine = within("worker_assignment.warm_up_bytes", said.warm_up_bytes, 0, limits::shm_slot_bytes_max);
  if (fine) fine = within("worker_assignment.edge_secret", said.edge_secret.size(), secret_words, 2);
  return fine;
}

expected<void> driver_orders::check(const wiring_order& said) const {
  if (std::ranges::adjacent_find(said.present, std::ranges::greater_equal{}) != said.present.end()) {
    return fail(error_code::wire_malformed, "wiring_order.present", "positions that do not ascend",
                "run the same version of Troupe everywhere");
  }
  for (const std::uint64_t each : said.present) {
    if (auto fine = within("wiring_order.present", each, 0, plan_.instances.size() - 1); !fine) return fine;
  }
  for (const std::uint64_t each : said.edge_ports) {
    const std::uint64_t most = has_tcp_edges_ ? std::numeric_limits<std::uint16_t>::max() : 0;
    if (auto fine = within("wiring_order.edge_ports", each, has_tcp_edges_ ? 1 : 0, most); !fine) return fine;
  }
  return {};
}

expected<void> driver_orders::check(const open_call& said) {
  if (said.scores.metrics && said.scores.content != score_content::metrics) {
    return fail(error_code::wire_malformed, "open_call.scores.metrics", "the call is scored by something else",
                "run the same version of Troupe everywhere");
  }
  open_.insert(said.call);
  return within("open_call: calls open at once", open_.size(), 0, limits::calls_queued_max);
}

expected<void> driver_orders::check(const release_call& said) {
  open_.erase(said.call);
  return {};
}

expected<void> driver_orders::check(const cancel_call& said) {
  open_.erase(said.call);
  return {};
}

}  // namespace troupe
