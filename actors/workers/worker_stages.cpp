#include "actors/workers/worker_stages.hpp"

#include <utility>

#include "messages/check.hpp"
#include "messages/error_text.hpp"
#include "messages/try.hpp"
#include "runtime/wiring/make_wiring.hpp"

namespace troupe {
namespace {

/// The channels of an instance, ascending, each with the instance at its other end.
std::map<std::size_t, std::size_t> neighbours_of(const wiring_plan& plan, std::size_t instance,
                                                 const std::vector<bool>& present) {
  std::map<std::size_t, std::size_t> found;
  for (const std::size_t number : ends_of(plan, instance, present).all()) {
    const wired_channel& channel = plan.channels[number];
    found[number] = channel.producer == instance ? channel.consumer : channel.producer;
  }
  return found;
}

}  // namespace

std::string edge_tag(epoch_number epoch, std::size_t channel) {
  return "edge " + std::to_string(epoch) + " " + std::to_string(channel);
}

worker_stages::worker_stages(std::shared_ptr<assembly> engines, std::shared_ptr<engine_host> host,
                             std::shared_ptr<worker_setup> setup, std::shared_ptr<worker_registry> registry,
                             pool_finder pools)
    : local_stages(std::move(engines), std::move(host)),
      setup_(std::move(setup)),
      registry_(std::move(registry)),
      pools_(std::move(pools)) {}

expected<stage_actor> worker_stages::start(director_actor::pointer director, const aggregator_actor& aggregator,
                                           stage_address at, incarnation_number incarnation) {
  if (!director_) director_.emplace(director_actor{director});
  if (!setup_->is_remote(at)) return local_stages::start(director, aggregator, at, incarnation);
  stage_actors_[at] = director->spawn<caf::monitored>(
      remote_stage, remote_stage_options{.at = at,
                                         .incarnation = incarnation,
                                         .setup = setup_,
                                         .registry = registry_,
                                         .accounts = engines_->accounts,
                                         .depths = engines_->depths,
                                         .place = place_in(engines_->plan, at),
                                         .sent = sent(),
                                         .loader_page = loader_page(),
                                         .pool = [pools = pools_, at] { return pools(at); },
                                         .director = director_actor{director},
                                         .aggregator = aggregator});
  return stage_actor{stage_actors_[at]};
}

/// Checks that what comes over an edge from a worker can only be what the loader has sent.
std::unique_ptr<edge_consumer> worker_stages::checked(std::unique_ptr<edge_consumer> end, std::size_t channel) const {
  const std::size_t producer = engines_->plan.channels[channel].producer;
  if (!is_remote(producer)) return end;
  const auto check = [sent = sent()](const activation& message) -> expected<void> {
    TROUPE_TRY(check_form(message));
    const handed_out::micro_batch known = sent->find(message.id);
    const bool fits = known.now != handed_out::standing::out || known.samples == message.samples.size();
    if (known.now != handed_out::standing::never && fits) return {};
    return fail(error_code::wire_malformed, "edge, " + to_string(message.id),
                fits ? "no such micro-batch was sent" : "it was sent with another number of samples");
  };
  return check_arrivals(std::move(end),
                        {.message = check,
                         .ended = [sent = sent()](call_number call) { return call < sent->next_call(); },
                         .on_damaged = kill_switch_of(producer)});
}

std::shared_ptr<const handed_out> worker_stages::sent() const {
  return {engines_->loader, &engines_->loader->sent()};
}

std::optional<shared_page> worker_stages::loader_page() const {
  const auto found = setup_->local_pages.find(engines_->loader->address());
  return found == setup_->local_pages.end() ? std::nullopt : std::optional(found->second);
}

bool worker_stages::is_remote(std::size_t instance) const {
  return instance != source() && setup_->is_remote(engines_->plan.instances[instance].address);
}

expected<std::shared_ptr<engine_wiring>> worker_stages::wire(const epoch_request& round) {
  const wiring_plan& plan = engines_->plan;
  epoch_edges edges{.epoch = round.epoch, .present = present_in(round), .offers = {}, .local = {}};
  TROUPE_TRY(make_edges(edges));
  wiring_order order{.epoch = round.epoch, .from = round.from, .present = {}, .edge_contacts = {}, .offers = {}};
  for (std::size_t instance = 0; instance < edges.present.size(); ++instance) {
    if (!edges.present[instance]) continue;
    order.present.push_back(instance);
    order.edge_contacts.push_back(edge_contact_of(instance));
  }
  for (const stage_address& each : round.present) {
    const std::size_t instance = plan.instance_at(each);
    if (is_remote(instance)) {
      wire_there(edges, instance, order);
      continue;
    }
    auto wired = TROUPE_TRY(wire_here(edges, instance));
    post(members_.at(each).actor,
         start_stage_epoch{std::make_shared<engine_wiring>(std::move(wired)), round.from, round.epoch});
  }
  return wire_here(edges, source()).map([](engine_wiring&& wired) {
    return std::make_shared<engine_wiring>(std::move(wired));
  });
}

bool worker_stages::end(stage_address at, const error& why) {
  const auto end_it = setup_->is_remote(at) ? registry_->kill_switch_of(at) : nullptr;
  if (end_it) end_it(why);
  return end_it != nullptr;
}

expected<void> worker_stages::make_edges(epoch_edges& edges) {
  const wiring_plan& plan = engines_->plan;
  for (std::size_t number = 0; number < plan.channels.size(); ++number) {
    const wired_channel& channel = plan.channels[number];
    if (!edges.present[channel.producer] || !edges.present[channel.consumer]) continue;
    edge_options shape = shape_of(plan, number, engines_->depths);
    if (is_remote(channel.producer) || is_remote(channel.consumer)) {
      auto offer = TROUPE_TRY(setup_->edges->offer(shape, reach_of(number)));
      edges.offers.emplace(number, std::move(offer));
      continue;
    }
    shape.producer_bell = &bell_of(channel.producer);
    shape.consumer_bell = &bell_of(channel.consumer);
    edges.local[number] = engines_->edges->make(shape);
  }
  return {};
}

edge_reach worker_stages::reach_of(std::size_t number) const {
  if (setup_->device_channels.contains(number)) return edge_reach::devices;
  const wired_channel& channel = engines_->plan.channels[number];
  return node_of(channel.producer) == node_of(channel.consumer) ? edge_reach::host : edge_reach::network;
}

expected<engine_wiring> worker_stages::wire_here(epoch_edges& edges, std::size_t instance) {
  const edge_opener make{
      .consumer =
          [&](std::size_t channel) {
            return consumer_here(edges, channel).map([&](std::unique_ptr<edge_consumer>&& end) {
              return checked(std::move(end), channel);
            });
          },
      .producer = [&](std::size_t channel) { return producer_here(edges, channel); },
  };
  return wire_instance(engines_->plan, ends_of(engines_->plan, instance, edges.present), make);
}

expected<std::unique_ptr<edge_consumer>> worker_stages::consumer_here(epoch_edges& edges, std::size_t channel) {
  const wired_channel& one = engines_->plan.channels[channel];
  if (edges.local.contains(channel)) return std::move(edges.local[channel].consumer);
  return site_of(edges, channel, one.consumer, one.producer).and_then([this](edge_site&& site) {
    return setup_->edges->open_consumer(std::move(site));
  });
}

expected<std::unique_ptr<edge_producer>> worker_stages::producer_here(epoch_edges& edges, std::size_t channel) {
  const wired_channel& one = engines_->plan.channels[channel];
  if (edges.local.contains(channel)) return std::move(edges.local[channel].producer);
  return site_of(edges, channel, one.producer, one.consumer).and_then([this](edge_site&& site) {
    return setup_->edges->open_producer(std::move(site));
  });
}

expected<edge_site> worker_stages::site_of(const epoch_edges& edges, std::size_t channel, std::size_t here,
                                           std::size_t there) {
  edge_site site{.epoch = edges.epoch,
                 .channel = channel,
                 .shape = shape_of(engines_->plan, channel, engines_->depths),
                 .offer = edges.offers.at(channel),
                 .peer = edge_contact_of(there),
                 .on_lost =
                     [director = director_, epoch = edges.epoch](const error& why) {
                       director->tell(edge_lost{epoch, why});
                     },
                 .on_damaged = kill_switch_of(there)};
  site.shape.producer_bell = site.shape.consumer_bell = &bell_of(here);
  if (!site.offer.memory) return site;
  auto page = TROUPE_TRY(
      page_of(there).copy().and_then([](unique_fd&& memory) { return shared_page::adopt(std::move(memory)); }));
  site.peer_bell = page.bell();
  return site;
}

edge_contact worker_stages::edge_contact_of(std::size_t instance) const {
  if (!is_remote(instance)) return {.node = {}, .address = setup_->home.address, .number = setup_->edges->contact()};
  const registered_worker there = worker_of(instance);
  const host_place& home = there.worker->home();
  return {.node = home.node, .address = home.address, .number = there.edge_contact};
}

std::string worker_stages::node_of(std::size_t instance) const {
  return is_remote(instance) ? worker_of(instance).worker->home().node : setup_->home.node;
}

registered_worker worker_stages::worker_of(std::size_t instance) const {
  auto found = registry_->at(engines_->plan.instances[instance].address);
  TROUPE_CHECK(found.has_value(), "a stage that is ready sits somewhere");
  return std::move(*found);
}

/// The memory of the edges is handed over first, so that the worker has it when it gets the order that names it.
void worker_stages::wire_there(const epoch_edges& edges, std::size_t instance, wiring_order order) {
  const hosted_worker_ptr worker = worker_of(instance).worker;
  if (auto offered = offer_edges(edges, instance, order, *worker); !offered) {
    return worker->kill(brief(offered.error()));  // another worker takes its place
  }
  auto bytes = codec::encode(order);
  if (!bytes) return worker->kill("its edges cannot be told: " + brief(bytes.error()));
  const stage_address at = engines_->plan.instances[instance].address;
  post(stage_actors_.at(at), forward_to_worker{std::move(*bytes), order.epoch, peers_of(instance, edges.present)});
}

/// If the consumer of a channel reports that something impossible came over it, the worker at the other end is killed:
/// the one that has the stage now, whatever happens later.
std::map<std::size_t, std::function<void(const error&)>> worker_stages::peers_of(
    std::size_t instance, const std::vector<bool>& present) const {
  std::map<std::size_t, std::function<void(const error&)>> found;
  for (const auto& [channel, peer] : neighbours_of(engines_->plan, instance, present)) {
    if (is_remote(peer)) found[channel] = kill_switch_of(peer);
  }
  return found;
}

expected<void> worker_stages::offer_edges(const epoch_edges& edges, std::size_t instance, wiring_order& order,
                                          hosted_worker& to) const {
  for (const auto& [channel, peer] : neighbours_of(engines_->plan, instance, edges.present)) {
    const edge_offer& offer = edges.offers.at(channel);
    order.offers.push_back({.channel = channel, .blobs = offer.memory ? 2u : 0u, .words = offer.words});
    if (!offer.memory) continue;
    const blob blobs[] = {*offer.memory, page_of(peer)};
    TROUPE_TRY(to.hand_over(edge_tag(order.epoch, channel), blobs));
  }
  return {};
}

blob worker_stages::page_of(std::size_t instance) const {
  const auto local = setup_->local_pages.find(engines_->plan.instances[instance].address);
  if (local != setup_->local_pages.end()) return local->second.memory();
  const auto page = worker_of(instance).worker->page();
  TROUPE_CHECK(page.has_value(), "a stage at an edge in shared memory has a shared page");
  return *page;
}

std::function<void(const error&)> worker_stages::kill_switch_of(std::size_t instance) const {
  return registry_->kill_switch_of(engines_->plan.instances[instance].address);
}

}  // namespace troupe
