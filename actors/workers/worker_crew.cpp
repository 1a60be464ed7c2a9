#include <utility>

#include <fcntl.h>

#include <troupe/actors/workers/wire_codec.hpp>
#include <troupe/actors/workers/worker_crew.hpp>
#include <troupe/messages/check.hpp>
#include <troupe/runtime/engine/make_wiring.hpp>

namespace troupe {
namespace {

expected<unique_fd> copy_of(const unique_fd& descriptor) {
  unique_fd copy(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return fail(error_code::process_failed, "edge", "the system has no descriptor left", "raise ulimit -n");
  return copy;
}

}  // namespace

std::string edge_tag(epoch_number epoch, std::size_t channel) {
  return "edge " + std::to_string(epoch) + " " + std::to_string(channel);
}

worker_crew::worker_crew(std::shared_ptr<assembly> engines, std::shared_ptr<engine_host> host,
                         std::shared_ptr<worker_setup> setup, std::shared_ptr<worker_seats> seats,
                         worker_pool_actor pool)
    : local_crew(std::move(engines), std::move(host)),
      setup_(std::move(setup)),
      seats_(std::move(seats)),
      pool_(std::move(pool)) {}

expected<stage_actor> worker_crew::start(director_actor::pointer director, const aggregator_actor& aggregator,
                                         stage_address at, incarnation_number incarnation) {
  if (!setup_->is_remote(at)) return local_crew::start(director, aggregator, at, incarnation);
  faces_[at] = director->spawn<caf::monitored>(
      remote_stage,
      remote_stage_options{.at = at,
                           .incarnation = incarnation,
                           .setup = setup_,
                           .seats = seats_,
                           .accounts = engines_->accounts,
                           .active_engines = static_cast<std::uint32_t>(engines_->accounts->owners().size()),
                           .prefetch_slots = engines_->prefetch_slots,
                           .pool = pool_,
                           .director = director_actor{director},
                           .aggregator = aggregator});
  return stage_actor{faces_[at]};
}

bool worker_crew::is_remote(std::size_t instance) const {
  return instance != source() && setup_->is_remote(engines_->plan.instances[instance].address);
}

expected<std::shared_ptr<engine_wiring>> worker_crew::wire(const wiring_round& round) {
  const wiring_plan& plan = engines_->plan;
  epoch_edges edges{.present = present_in(round), .memories = {}, .local = {}};
  if (auto made = make_edges(edges); !made) return tl::make_unexpected(made.error());
  wiring_order order{.epoch = round.epoch, .from = round.from, .present = {}, .edge_ports = {}};
  for (std::size_t instance = 0; instance < edges.present.size(); ++instance) {
    if (edges.present[instance]) order.present.push_back(instance);
  }
  order.edge_ports.assign(order.present.size(), 0);
  for (const stage_address& each : round.present) {
    const std::size_t instance = plan.instance_at(each);
    if (is_remote(instance)) {
      wire_there(edges, instance, order);
      continue;
    }
    auto wired = wire_here(edges, instance);
    if (!wired) return tl::make_unexpected(wired.error());
    post(members_.at(each).face, rewire_stage{std::make_shared<engine_wiring>(std::move(*wired)), round.from});
  }
  return wire_here(edges, source()).map([](engine_wiring&& wired) {
    return std::make_shared<engine_wiring>(std::move(wired));
  });
}

expected<void> worker_crew::make_edges(epoch_edges& edges) {
  const wiring_plan& plan = engines_->plan;
  for (std::size_t number = 0; number < plan.channels.size(); ++number) {
    const wired_channel& channel = plan.channels[number];
    if (!edges.present[channel.producer] || !edges.present[channel.consumer]) continue;
    edge_options shape = shape_of(plan, number, engines_->prefetch_slots);
    if (is_remote(channel.producer) || is_remote(channel.consumer)) {
      auto memory = create_shm_edge({.slots = shape.slots, .credits_per_ring = shape.credits_per_ring});
      if (!memory) return tl::make_unexpected(memory.error());
      edges.memories[number] = std::move(*memory);
      continue;
    }
    shape.producer_bell = &bell_of(channel.producer);
    shape.consumer_bell = &bell_of(channel.consumer);
    edges.local[number] = engines_->edges->make(shape);
  }
  return {};
}

expected<engine_wiring> worker_crew::wire_here(epoch_edges& edges, std::size_t instance) {
  const wiring_plan& plan = engines_->plan;
  const end_maker make{.consumer = [&](std::size_t channel) -> expected<std::unique_ptr<edge_consumer>> {
                         if (edges.local.contains(channel)) return std::move(edges.local[channel].consumer);
                         return copy_of(edges.memories.at(channel)).and_then([&](unique_fd&& memory) {
                           return open_shm_consumer(std::move(memory), end_towards(plan.channels[channel].producer));
                         });
                       },
                       .producer = [&](std::size_t channel) -> expected<std::unique_ptr<edge_producer>> {
                         if (edges.local.contains(channel)) return std::move(edges.local[channel].producer);
                         return copy_of(edges.memories.at(channel)).and_then([&](unique_fd&& memory) {
                           return open_shm_producer(std::move(memory), end_towards(plan.channels[channel].consumer));
                         });
                       }};
  return wire_instance(plan, ends_of(plan, instance, edges.present), make);
}

/// Descriptors first: the order that speaks of them finds them there.
void worker_crew::wire_there(const epoch_edges& edges, std::size_t instance, const wiring_order& order) {
  const stage_address at = engines_->plan.instances[instance].address;
  const auto seat = seats_->at(at);
  TROUPE_CHECK(seat.has_value(), "a stage that is ready sits somewhere");
  if (auto sent = send_edges(edges, instance, order, *seat->process); !sent) {
    return seat->process->kill(to_string(sent.error()));  // another one takes its place
  }
  if (auto wire = to_wire(order)) post(faces_.at(at), pass_on{std::move(*wire)});
}

expected<void> worker_crew::send_edges(const epoch_edges& edges, std::size_t instance, const wiring_order& order,
                                       worker_process& to) const {
  const auto send = [&](std::size_t channel, std::size_t peer) {
    const shared_page page = page_of(peer);
    const int descriptors[] = {edges.memories.at(channel).get(), page.descriptor()};
    return to.send(edge_tag(order.epoch, channel), descriptors);
  };
  const wiring_plan& plan = engines_->plan;
  const instance_ends ends = ends_of(plan, instance, edges.present);
  for (const std::size_t channel : ends.inbound) {
    if (auto sent = send(channel, plan.channels[channel].producer); !sent) return sent;
  }
  for (const instance_ends::branch& branch : ends.outbound) {
    for (const std::size_t channel : branch.channels) {
      if (auto sent = send(channel, plan.channels[channel].consumer); !sent) return sent;
    }
  }
  return {};
}

shared_page worker_crew::page_of(std::size_t instance) const {
  const stage_address at = engines_->plan.instances[instance].address;
  const auto local = setup_->local_pages.find(at);
  if (local != setup_->local_pages.end()) return local->second;
  const auto seat = seats_->at(at);
  TROUPE_CHECK(seat.has_value(), "whoever has a neighbour in another process has a shared page");
  return seat->page;
}

/// For an end in this process: who is at the other one, and what becomes of nonsense from there.
shm_end worker_crew::end_towards(std::size_t instance) const {
  const stage_address at = engines_->plan.instances[instance].address;
  return {.peer_bell = page_of(instance).bell(),
          .codec = setup_->codec,
          .on_damaged = [seats = seats_, at](const error& what) {
            if (const auto seat = seats->at(at)) seat->process->kill(to_string(what));
          }};
}

}  // namespace troupe
