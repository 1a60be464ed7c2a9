#include <algorithm>
#include <utility>

#include <troupe/messages/check.hpp>
#include <troupe/runtime/engine/assembly.hpp>

namespace troupe {
namespace {

std::string instance_name(const wiring_plan& plan, const wired_instance& instance) {
  const wired_node& node = plan.nodes[instance.address.stage];
  return node.replicas == 1 ? node.name : node.name + ", replica " + std::to_string(instance.address.replica);
}

bool is_fed_by_source(const wiring_plan& plan, const wired_instance& instance) {
  TROUPE_CHECK(!instance.inbound.empty(), "every stage has an input");
  const wired_instance& producer = plan.instances[plan.channels[instance.inbound.front()].producer];
  return plan.nodes[producer.address.stage].kind == node_kind::source;
}

std::uint32_t slots_of(const wiring_plan& plan, const wired_channel& channel, const assembly_options& options) {
  const wired_node& producer = plan.nodes[plan.instances[channel.producer].address.stage];
  if (producer.kind != node_kind::source) return channel.slots;
  const wired_node& consumer = plan.nodes[plan.instances[channel.consumer].address.stage];
  return std::max(consumer.num_pipe_buffers, options.prefetch_slots);
}

/// Everything that can be under way between the loader and the ledger.
std::uint64_t slots_of_all(const wiring_plan& plan, const assembly_options& options) {
  std::uint64_t slots = 0;
  for (const wired_channel& channel : plan.channels) slots += slots_of(plan, channel, options);
  return slots;
}

}  // namespace

expected<std::vector<trace_event>> trace_of(const assembly& engines) {
  std::vector<const trace_recorder*> recorders;
  for (const auto& engine : engines.stages) {
    if (engine->trace() != nullptr) recorders.push_back(engine->trace());
  }
  return gather_trace(recorders);
}

std::uint32_t prefetch_slots_for(std::uint64_t micro_batch_bytes, std::uint32_t num_pipe_buffers) {
  const std::uint64_t most = std::max(limits::prefetch_slots, num_pipe_buffers);
  const std::uint64_t fit = micro_batch_bytes == 0 ? most : limits::prefetch_bytes / micro_batch_bytes;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fit, num_pipe_buffers, most));
}

expected<assembly> assemble(wiring_plan plan, std::shared_ptr<edge_factory> edges, const body_factory& make_body,
                            const assembly_options& options) {
  assembly made;
  made.window = window_for(slots_of_all(plan, options));
  std::vector<stage_engine*> stage_at(plan.instances.size(), nullptr);
  for (std::size_t index = 0; index < plan.instances.size(); ++index) {
    const wired_instance& instance = plan.instances[index];
    const wired_node& node = plan.nodes[instance.address.stage];
    if (node.kind == node_kind::source) {
      TROUPE_CHECK(made.loader == nullptr, "a chain has one source");
      made.loader = std::make_shared<loader_engine>(
          loader_engine_options{.name = node.name, .address = instance.address, .window = made.window});
      continue;
    }
    auto body = make_body(instance.address);
    if (!body) return tl::make_unexpected(body.error());
    made.stages.push_back(
        std::make_shared<stage_engine>(stage_engine_options{.name = instance_name(plan, instance),
                                                            .address = instance.address,
                                                            .num_pipe_buffers = node.num_pipe_buffers,
                                                            .sinks = node.sinks,
                                                            .is_first = is_fed_by_source(plan, instance),
                                                            .trace = options.trace,
                                                            .now = options.now},
                                       std::move(*body)));
    stage_at[index] = made.stages.back().get();
  }
  TROUPE_CHECK(made.loader != nullptr, "a validated graph has a source");

  for (const wired_channel& channel : plan.channels) {
    stage_engine* producer = stage_at[channel.producer];
    stage_engine* consumer = stage_at[channel.consumer];
    TROUPE_CHECK(consumer != nullptr, "channels lead to stages");
    doorbell& producer_bell = producer != nullptr ? producer->bell() : made.loader->bell();
    const std::uint32_t slots = slots_of(plan, channel, options);
    // The loader is cheap in bursts and dear to wake: it sleeps until half of a replica's slots are free.
    const std::uint32_t credits_per_ring = producer != nullptr ? 1 : std::max(1u, slots / 2);
    edge_ends ends = edges->make({.slots = slots,
                                  .producer_bell = &producer_bell,
                                  .consumer_bell = &consumer->bell(),
                                  .credits_per_ring = credits_per_ring});
    consumer->add_inbound(std::move(ends.consumer));
    if (producer != nullptr) {
      producer->add_outbound(std::move(ends.producer));
    } else {
      made.loader->add_outbound(std::move(ends.producer));
    }
  }
  made.plan = std::move(plan);
  made.edges = std::move(edges);
  return made;
}

}  // namespace troupe
