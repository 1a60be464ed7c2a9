#include "actors/workers/driver_orders.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/edge/transport.hpp"
#include <troupe/fault_plan.hpp>
#include <troupe/limits.hpp>

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
  auto fine = within("worker_assignment.prefetch_slots", said.prefetch_slots, 1, limits::pipe_buffers_max);
  if (fine) fine = within("worker_assignment.stage_slots", said.stage_slots, 1, limits::pipe_buffers_max);
  if (fine) fine = within("worker_assignment.threads", said.threads, 1, limits::threads_max);
  if (fine) fine = within("worker_assignment.boundaries", said.boundaries.size(), 0, limits::stages_max + 1);
  if (fine) fine = within("worker_assignment.runs_plain", said.runs_plain, 0, 1);
  if (fine) fine = within("worker_assignment.inputs", said.inputs.size(), 0, limits::ports_max);
  if (fine) fine = within("worker_assignment.loader_pages", said.loader_pages, 0, 1);
  if (fine) fine = within("worker_assignment.warm_up_bytes", said.warm_up_bytes, 0, limits::shm_slot_bytes_max);
  if (fine && said.has_state) fine = check_trains("worker_assignment.has_state");
  if (fine && !said.ties.empty()) fine = check_trains("worker_assignment.ties");
  for (const assigned_fault& each : said.faults) {
    if (fine) fine = within("worker_assignment.faults", each.number, 0, limits::faults_max - 1);
    if (fine && !parse_fault(each.text)) {
      return fail(error_code::wire_malformed, "worker_assignment.faults", "what is no fault",
                  "run the same version of Troupe everywhere");
    }
  }
  return fine;
}

expected<void> driver_orders::check(const wiring_order& said) const {
  if (std::ranges::adjacent_find(said.present, std::ranges::greater_equal{}) != said.present.end()) {
    return fail(error_code::wire_malformed, "wiring_order.present", "positions that do not ascend",
                "run the same version of Troupe everywhere");
  }
  for (const std::uint64_t each : said.present) {
    TROUPE_TRY(within("wiring_order.present", each, 0, plan_.instances.size() - 1));
  }
  for (const edge_contact& each : said.edge_contacts) {
    if (edges_.may_be_contact(each.number)) continue;
    return fail(error_code::wire_malformed, "wiring_order.edge_contacts",
                std::to_string(each.number) + " leads to no process", "run the same version of Troupe everywhere");
  }
  return check_offers(said.offers);
}

expected<void> driver_orders::check(const run_begun& said) const {
  constexpr std::chrono::duration<double> longest{limits::deadline_seconds_max};
  return within("run_begun.age_ns", said.age_ns, 0,
                static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(longest).count()));
}

expected<void> driver_orders::check_offers(const std::vector<offered_edge>& offers) const {
  if (std::ranges::adjacent_find(offers, std::ranges::greater_equal{}, &offered_edge::channel) != offers.end()) {
    return fail(error_code::wire_malformed, "wiring_order.offers", "channels that do not ascend",
                "run the same version of Troupe everywhere");
  }
  for (const offered_edge& each : offers) {
    auto fine = within("wiring_order.offers.channel", each.channel, 0, plan_.channels.size() - 1);
    if (fine) fine = within("wiring_order.offers.words", each.words.size(), 0, limits::edge_offer_words_max);
    if (!fine) return fine;
    if (each.blobs == 0 || each.blobs == 2) continue;
    return fail(error_code::wire_malformed, "wiring_order.offers.blobs", std::to_string(each.blobs) + " is not 0 or 2",
                "run the same version of Troupe everywhere");
  }
  return {};
}

/// An engine that evaluates gets no steps.
expected<void> driver_orders::check_trains(const char* field) const {
  if (plan_.trains) return {};
  return fail(error_code::wire_malformed, field, "this run does not train",
              "run the same version of Troupe everywhere");
}

expected<void> driver_orders::check(const step_decision&) const {
  return check_trains("step_decision");
}

expected<void> driver_orders::check(const open_call& said) {
  if (said.trains) {
    TROUPE_TRY(check_trains("open_call.trains"));
  }
  if (said.trains != (said.scores.content == score_content::step_loss)) {
    return fail(error_code::wire_malformed, "open_call.scores.content", "a step, and it alone, has the loss of a step",
                "run the same version of Troupe everywhere");
  }
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
