#include "runtime/inject/armed_faults.hpp"

#include <algorithm>
#include <utility>

#include "runtime/fault/fault_shape.hpp"
#include "runtime/inject/faulty_transport.hpp"
#include "runtime/inject/plan_shape.hpp"

namespace troupe {

armed_faults::armed_faults(std::vector<numbered_fault> faults, const std::shared_ptr<const run_start>& start,
                           may_inject may)
    : faults_(std::move(faults)), may_(std::move(may)) {
  for (const numbered_fault& each : faults_) {
    if (each.what.who.kind != fault_target_kind::edge && each.what.who.kind != fault_target_kind::control) continue;
    const auto asked = [ask = may_, number = each.number, once = is_once(each.what)](bool first) {
      return ask(number, once, first, std::nullopt);
    };
    triggers_.push_back(std::make_shared<message_trigger>(each.what, start, asked));
  }
}

bool armed_faults::has(fault_target_kind who) const {
  return std::ranges::any_of(faults_, [&](const numbered_fault& each) { return each.what.who.kind == who; });
}

message_triggers armed_faults::triggers(fault_target_kind who) const {
  message_triggers found;
  std::ranges::copy_if(triggers_, std::back_inserter(found),
                       [&](const auto& each) { return each->what().who.kind == who; });
  return found;
}

engine_body armed_faults::around(engine_body body, std::uint64_t lot,
                                 const std::function<bool(const fault&)>& is_of_stage) const {
  std::vector<numbered_fault> mine;
  std::ranges::copy_if(faults_, std::back_inserter(mine),
                       [&](const numbered_fault& each) { return is_of_body(each.what) && is_of_stage(each.what); });
  if (mine.empty()) return body;
  const auto asked = [ask = may_](std::size_t number, bool once, micro_batch_id at) {
    return ask(number, once, true, at);
  };
  body_faults faults(std::move(mine), lot, asked);
  if (auto* trained = std::get_if<std::shared_ptr<training_body>>(&body)) {
    return std::make_shared<faulty_training_body>(std::move(*trained), std::move(faults));
  }
  return std::make_shared<faulty_body>(std::get<std::shared_ptr<stage_body>>(std::move(body)), std::move(faults));
}

std::shared_ptr<transport> armed_faults::around(std::shared_ptr<transport> edges, const wiring_plan& plan) const {
  return make_faulty_transport(std::move(edges), [all = triggers(fault_target_kind::edge), plan](std::size_t channel) {
    message_triggers found;
    std::ranges::copy_if(all, std::back_inserter(found),
                         [&](const auto& each) { return is_of_channel(each->what(), plan, channel); });
    return found;
  });
}

bool mark_injected(engine_page& page, std::size_t number, bool once, bool first, std::optional<micro_batch_id> at) {
  const std::uint64_t bit = std::uint64_t{1} << number;
  if (at && (page.faults.load(std::memory_order_relaxed) & bit) == 0) page.first_hits.at(number).set(*at);
  const bool is_new = (page.faults.fetch_or(bit, std::memory_order_acq_rel) & bit) == 0;
  return is_new || !first || !once;
}

}  // namespace troupe
