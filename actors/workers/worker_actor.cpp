#include "actors/workers/worker_actor.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "actors/workers/send_scores.hpp"
#include "actors/workers/worker_stages.hpp"
#include "messages/codec/dispatch.hpp"
#include "messages/try.hpp"
#include "runtime/edge/checked_consumer.hpp"
#include "runtime/inject/armed_faults.hpp"
#include "runtime/inject/cut_off_edges.hpp"
#include "runtime/os/shared_memory.hpp"
#include "runtime/process/error_line.hpp"

namespace troupe {

namespace {

/// From any thread. The messages of one thread arrive in the order in which it sent them.
template <class Message>
void send_to_driver(worker_body& from, const Message& message) {
  auto bytes = codec::encode(message);
  if (!bytes) from.process.end(bytes.error());
  from.driver->send(std::move(*bytes));
}

/// Checks that what comes over an edge can only be what the loader has sent. `loader` is null on another node than the
/// loader's: there only the form is checked here, and the driver checks the scores.
arrival_check within_bounds(const std::shared_ptr<const engine_page>& loader,
                            std::function<void(const error&)> on_damaged) {
  return {.message = [loader](const activation& message) -> expected<void> {
            if (auto fine = check_form(message); !fine || !loader) return fine;
            return loader->sent.check(message.id, message.samples.size());
          },
          .ended = [loader](call_number call) { return !loader || loader->sent.has_ended(call); },
          .on_damaged = std::move(on_damaged)};
}

armed_faults arm(const worker_assignment& to, const std::shared_ptr<engine_page>& page,
                 const std::shared_ptr<const run_start>& start) {
  std::vector<numbered_fault> all;
  // driver_orders::check() has parsed each text before: it is a fault.
  for (const assigned_fault& each : to.faults) all.push_back({each.number, *parse_fault(each.text)});
  return {std::move(all), start, [page](std::size_t number, bool once, bool first, std::optional<micro_batch_id> at) {
            return mark_injected(*page, number, once, first, at);
          }};
}

}  // namespace

void end_worker(const error& cause) {
  std::fputs(last_words(cause).c_str(), stderr);
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(status_of(cause.code)));
}

worker_actor_type::behavior_type worker_actor(worker_actor_type::stateful_pointer<worker_actor_state> self,
                                              std::shared_ptr<worker_body> body) {
  return self->state.start(std::move(body));
}

template <class Message>
void worker_actor_state::tell_driver(const Message& message) const {
  send_to_driver(*body_, message);
}

worker_actor_type::behavior_type worker_actor_state::start(std::shared_ptr<worker_body> body) {
  body_ = std::move(body);
  orders_.emplace(body_->description.plan, *body_->edges);
  const worker_hello hello{.pid = body_->process.pid(), .edge_contact = body_->edges->contact()};
  tell_driver(hello);
  return {[this](const from_driver& order) { obey(order); }};
}

void worker_actor_state::obey(const from_driver& order) {
  const auto taken = dispatch<open_call, release_call, cancel_call, step_decision, wiring_order, stop_request,
                              worker_assignment, run_begun>(order.message, [this](const auto& what) {
    if (auto fine = orders_->check(what); !fine) body_->process.end(fine.error());
    handle(what);
  });
  if (!taken) body_->process.end(taken.error());
}

// --- becoming a stage ------------------------------------------------------------------------------------------------

void worker_actor_state::handle(const worker_assignment& to) {
  if (engine_) return;
  // greeting -> assigned: what this process reports from now on is about this stage.
  assignment_ = to;
  if (auto assigned = become_stage(to); !assigned) {
    engine_.reset();  // if there is one, its thread could not be started
    tell_driver(failure{to.address, to.incarnation, {}, std::nullopt, assigned.error(), 0});
  }
}

expected<void> worker_actor_state::become_stage(const worker_assignment& to) {
  const worker_description& what = body_->description;
  TROUPE_TRY(check_fingerprint(to));
  TROUPE_TRY(add_ties(body_->description.plan, to.ties));
  TROUPE_TRY(body_->process.ensure_threads(to.threads));
  const auto page = TROUPE_TRY(body_->process.take_page("page"));
  // If the process ends from here on, the stage may be the cause: its death is counted.
  page->taken.store(true, std::memory_order_release);
  TROUPE_TRY(take_loader_page(to));
  assigned_memory given{.warm_up = TROUPE_TRY(warm_up_of(to))};
  if (to.has_state) {
    auto memory = TROUPE_TRY(body_->process.take("state", 1));
    given.state = std::make_shared<shared_memory>(TROUPE_TRY(shared_memory::adopt(std::move(memory.front()), 1)));
  }
  auto stage = TROUPE_TRY(what.make_body(to, given));
  // Checked again, since a file may have been replaced while it was read.
  TROUPE_TRY(check_fingerprint(to));
  if (!to.faults.empty()) {
    const armed_faults faults = arm(to, page, run_start_);
    const std::uint64_t lot = (std::uint64_t{to.incarnation} << 32U) + to.address.replica;
    stage = faults.around(std::move(stage), lot, [](const fault&) { return true; });
    // A worker is only told of faults of its own node.
    if (faults.has(fault_target_kind::node)) body_->edges = cut_off_edges(body_->edges, page);
    if (faults.has(fault_target_kind::edge)) body_->edges = faults.around(body_->edges, what.plan);
  }
  const assembly_options options{.depths = {.from_loader = to.prefetch_slots, .between_stages = to.stage_slots},
                                 .trace = what.trace};
  engine_ = make_stage_engine(what.plan, what.plan.instance_at(to.address), options, std::move(stage), page);
  engine_->listen(report_to_driver(page));
  return body_->process.engines().start(engine_);
}

expected<void> worker_actor_state::take_loader_page(const worker_assignment& to) {
  if (to.loader_pages == 0) return {};
  return body_->process.take_page("loader").map(
      [this](std::shared_ptr<engine_page>&& page) { loader_page_ = std::move(page); });
}

/// The files of the model may have changed since this process was started as a spare.
expected<void> worker_actor_state::check_fingerprint(const worker_assignment& to) const {
  if (to.fingerprint == body_->description.fingerprint()) return {};
  return fail(error_code::worker_mismatch, "worker", "this process describes another topology than its driver",
              "build the topology from the arguments alone, and leave its files alone while it runs");
}

expected<payload_ptr> worker_actor_state::warm_up_of(const worker_assignment& to) {
  if (to.warm_up_bytes == 0) return payload_ptr{};
  auto descriptors = TROUPE_TRY(body_->process.take("warm-up", 1));
  const auto memory = TROUPE_TRY(shared_memory::adopt(std::move(descriptors.front()), to.warm_up_bytes));
  auto mapped = TROUPE_TRY(memory.map(0, to.warm_up_bytes));
  const auto pages = std::make_shared<memory_mapping>(std::move(mapped));
  return body_->description.codec->read(pages->bytes().first(to.warm_up_bytes), pages);
}

/// The listener runs on the engine's thread, so the driver gets the reports in their order.
stage_listener worker_actor_state::report_to_driver(const std::shared_ptr<engine_page>& page) const {
  const auto send = [body = body_](const auto& message) { send_to_driver(*body, message); };
  return {.on_ready = [send, ready = stage_ready{assignment_->address, assignment_->incarnation}] { send(ready); },
          .on_scores =
              [send, incarnation = assignment_->incarnation, page](std::vector<score> scores) {
                for (score& each : scores) each.sender_incarnation = incarnation;
                send_scores(std::move(scores), page->work, send);
              },
          .on_vote =
              [send, incarnation = assignment_->incarnation](step_vote vote) {
                vote.incarnation = incarnation;
                send(vote);
              },
          .on_failure =
              [send, body = body_, incarnation = assignment_->incarnation](failure what) {
                // After a failure of the device this process cannot use it any more. Another process can.
                if (what.cause.code == error_code::device_failed) body->process.end(what.cause);
                what.incarnation = incarnation;
                send(what);
              },
          .on_finished =
              [send, at = assignment_->address, incarnation = assignment_->incarnation, page] {
                send(stopped{.address = at,
                             .incarnation = incarnation,
                             .micro_batches = page->counters.micro_batches.load(),
                             .forward_nanoseconds = page->counters.forward_ns.load()});
              }};
}

/// May come before the assignment.
void worker_actor_state::handle(const run_begun& begin) {
  run_start_->begin(run_start::clock::now() - std::chrono::nanoseconds{begin.age_ns});
}

// --- what a stage is told --------------------------------------------------------------------------------------------

void worker_actor_state::handle(const open_call& begin) {
  if (!engine_) return;
  stage_command::open_call command{begin.call, begin.first, {}, begin.trains};
  for (const std::uint32_t sink : engine_->sinks()) {
    auto made = body_->description.make_scorer(sink, begin.scores);
    if (!made)
      return tell_driver(
          failure{assignment_->address, assignment_->incarnation, engine_->name(), std::nullopt, made.error(), 0});
    command.scorers.push_back(std::move(*made));
  }
  order(std::move(command));
  tell_driver(call_opened{begin.call});
}

void worker_actor_state::handle(const release_call& end) {
  order(stage_command::release_call{end.call});
}

void worker_actor_state::handle(const cancel_call& cancel) {
  order(stage_command::cancel_call{cancel.call});
}

void worker_actor_state::handle(const step_decision& decision) {
  order(stage_command::decide_step{decision});
}

void worker_actor_state::handle(const stop_request&) {
  if (engine_) return engine_->stop();
  if (!assignment_) return;
  // Without an engine this actor says that the stage has stopped.
  tell_driver(stopped{.address = assignment_->address, .incarnation = assignment_->incarnation});
}

void worker_actor_state::handle(const wiring_order& wiring) {
  if (!engine_) return;
  auto edges = open_edges(wiring);
  if (!edges) body_->process.end(edges.error());
  order(stage_command::start_epoch{std::make_shared<engine_wiring>(std::move(*edges)), wiring.from, wiring.epoch});
}

expected<engine_wiring> worker_actor_state::open_edges(const wiring_order& wiring) {
  const wiring_plan& plan = body_->description.plan;
  std::vector<bool> present(plan.instances.size(), false);
  for (const std::uint64_t instance : wiring.present) present[instance] = true;
  const edge_opener make{
      .consumer =
          [&](std::size_t channel) {
            return site_of(wiring, channel, plan.channels[channel].producer)
                .and_then([this](edge_site&& site) { return body_->edges->open_consumer(std::move(site)); })
                .map([&](std::unique_ptr<edge_consumer>&& end) {
                  // There is one sum in a step, which has the samples of many micro-batches.
                  const bool is_sum = plan.channels[channel].kind == channel_kind::sums;
                  return check_arrivals(std::move(end), within_bounds(is_sum ? nullptr : loader_page_,
                                                                      damage_reporter(wiring.epoch, channel)));
                });
          },
      .producer =
          [&](std::size_t channel) {
            return site_of(wiring, channel, plan.channels[channel].consumer).and_then([this](edge_site&& site) {
              return body_->edges->open_producer(std::move(site));
            });
          }};
  return wire_instance(plan, ends_of(plan, plan.instance_at(assignment_->address), present), make);
}

/// `peer` is the instance at the other end.
expected<edge_site> worker_actor_state::site_of(const wiring_order& wiring, std::size_t channel, std::size_t peer) {
  const auto offered = std::ranges::find(wiring.offers, channel, &offered_edge::channel);
  if (offered == wiring.offers.end()) {
    return fail(error_code::wire_malformed, "wiring_order.offers",
                "nothing is said of channel " + std::to_string(channel), "run the same version of Troupe everywhere");
  }
  const auto position = std::ranges::find(wiring.present, peer) - wiring.present.begin();
  edge_site site{
      .epoch = wiring.epoch,
      .channel = channel,
      .shape = shape_of(body_->description.plan, channel,
                        {.from_loader = assignment_->prefetch_slots, .between_stages = assignment_->stage_slots}),
      .offer = {.memory = std::nullopt, .words = offered->words},
      .peer = wiring.edge_contacts[static_cast<std::size_t>(position)],
      .on_lost =
          [body = body_, epoch = wiring.epoch, channel](error why) {
            why.where = channel_name(body->description.plan, channel) + ": " + why.where;
            send_to_driver(*body, edge_lost{epoch, std::move(why)});
          },
      .on_damaged = damage_reporter(wiring.epoch, channel)};
  site.shape.producer_bell = site.shape.consumer_bell = &engine_->bell();
  const std::shared_ptr<engine_page>& page = engine_->page();
  site.arrived_bytes = {page, &page->arrived_bytes};
  if (offered->blobs == 0) return site;
  return take_memory(site).map([&] { return std::move(site); });
}

/// The memory of an edge, and the page of the engine at its other end.
expected<void> worker_actor_state::take_memory(edge_site& site) {
  auto descriptors = TROUPE_TRY(body_->process.take(edge_tag(site.epoch, site.channel), 2));
  const auto page = TROUPE_TRY(shared_page::adopt(std::move(descriptors[1])));
  site.offer.memory.emplace(std::move(descriptors[0]));
  site.peer_bell = page.bell();
  return {};
}

/// Reports to the driver that what has come over this edge cannot be true. Called on the engine's thread. The edge is
/// silent from then on, until the driver sends new edges.
std::function<void(const error&)> worker_actor_state::damage_reporter(epoch_number epoch, std::size_t channel) const {
  return [body = body_, epoch, channel](const error& what) {
    send_to_driver(*body, edge_damaged{epoch, channel, what});
  };
}

void worker_actor_state::order(stage_command_t command) {
  if (!engine_ || engine_->command(std::move(command))) return;
  body_->process.end(
      {error_code::queue_full, engine_->name(), "the queue of its commands is full", "submit fewer calls at a time"});
}

}  // namespace troupe
