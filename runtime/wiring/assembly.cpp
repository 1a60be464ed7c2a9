#include "runtime/wiring/assembly.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/flow/stage_engine.hpp"
#include "runtime/flow/training_stage_engine.hpp"
#include "runtime/wiring/make_wiring.hpp"

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

/// The number of the stage's buffers: its own, or more where its inbound edges have more slots.
std::uint32_t buffers_of(const wiring_plan& plan, const wired_instance& instance, const edge_depths& depths) {
  std::uint32_t most = plan.nodes[instance.address.stage].num_pipe_buffers;
  for (const std::size_t channel : instance.inbound) {
    const wired_channel& one = plan.channels[channel];
    const stage_index from = plan.instances[one.producer].address.stage;
    if (plan.nodes[from].kind != node_kind::source) most = std::max(most, slots_of(plan, one, depths));
  }
  return most;
}

stage_engine_options engine_options(const wiring_plan& plan, const wired_instance& instance,
                                    const assembly_options& options) {
  const wired_node& node = plan.nodes[instance.address.stage];
  stage_engine_options made{.name = instance_name(plan, instance),
                            .address = instance.address,
                            .num_pipe_buffers = buffers_of(plan, instance, options.depths),
                            .sinks = node.sinks,
                            .sink_ports = {},
                            .outputs = node.outputs.size(),
                            .inputs = {.ports = node.inputs.size(), .keeps_order = node.keeps_order},
                            .is_first = is_fed_by_source(plan, instance),
                            .trace = options.trace,
                            .now = options.now};
  for (const std::uint32_t sink : node.sinks) made.sink_ports.push_back(plan.sinks[sink].output_port);
  if (node.fixed_replica) {
    made.inputs.replica = instance.address.replica;
    made.inputs.replicas = node.replicas;
  }
  return made;
}

std::shared_ptr<compute_engine> make_training_engine(const wiring_plan& plan, const wired_instance& instance,
                                                     const assembly_options& options,
                                                     std::shared_ptr<training_body> body,
                                                     std::shared_ptr<engine_page> shared_page) {
  const wired_node& node = plan.nodes[instance.address.stage];
  return std::make_shared<training_stage_engine>(
      training_stage_engine_options{.name = instance_name(plan, instance),
                                    .address = instance.address,
                                    .stages = static_cast<std::uint32_t>(plan.nodes.size() - 1),
                                    .replicas = node.replicas,
                                    .num_pipe_buffers = node.num_pipe_buffers,
                                    .sinks = node.sinks,
                                    .trace = options.trace,
                                    .now = options.now,
                                    .shared_page = std::move(shared_page)},
      std::move(body));
}

std::vector<stage_accounts::owner> stages_of(const wiring_plan& plan) {
  std::vector<stage_accounts::owner> owners;
  for (const wired_instance& instance : plan.instances) {
    if (plan.nodes[instance.address.stage].kind == node_kind::source) continue;
    owners.push_back({instance_name(plan, instance), instance.address});
  }
  return owners;
}

/// The slots of all edges: so many micro-batches can be under way between the loader and the ledger.
std::uint64_t slots_of_all(const wiring_plan& plan, const edge_depths& depths) {
  std::uint64_t slots = 0;
  for (const wired_channel& channel : plan.channels) slots += slots_of(plan, channel, depths);
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

std::shared_ptr<compute_engine> make_stage_engine(const wiring_plan& plan, std::size_t instance,
                                                  const assembly_options& options, engine_body body,
                                                  std::shared_ptr<engine_page> shared_page) {
  if (auto* trained = std::get_if<std::shared_ptr<training_body>>(&body)) {
    return make_training_engine(plan, plan.instances[instance], options, std::move(*trained), std::move(shared_page));
  }
  stage_engine_options made = engine_options(plan, plan.instances[instance], options);
  made.shared_page = std::move(shared_page);
  return std::make_shared<stage_engine>(std::move(made), std::get<std::shared_ptr<stage_body>>(std::move(body)));
}

expected<assembly> assemble(wiring_plan plan, std::shared_ptr<edge_factory> edges, const body_factory& make_body,
                            const assembly_options& options) {
  assembly made;
  made.window = window_for(slots_of_all(plan, options.depths));
  // Edges between stages have many slots where activations are small. What the loader keeps of a micro-batch may be
  // large all the same, so these slots do not count for the number of micro-batches that it keeps of any size.
  made.window_min = slots_of_all(plan, {.from_loader = options.depths.from_loader, .between_stages = 1}) + 1;
  if (plan.trains) {
    // The low-water mark stands still during a step; step_layout may leave places empty, fewer than there are others.
    made.window = std::max(made.window, 2 * options.step_micro_batches + 1);
    made.window_min = std::max(made.window_min, 2 * options.step_micro_batches + 1);
  }
  made.accounts = std::make_shared<stage_accounts>(stages_of(plan));
  for (std::size_t index = 0; index < plan.instances.size(); ++index) {
    const wired_instance& instance = plan.instances[index];
    const wired_node& node = plan.nodes[instance.address.stage];
    if (node.kind == node_kind::source) {
      TROUPE_CHECK(made.loader == nullptr, "a run has one source");
      made.loader = std::make_shared<loader_engine>(
          loader_engine_options{.name = node.name,
                                .address = instance.address,
                                .window = made.window,
                                .window_min = made.window_min,
                                .paused = true,
                                .shared_page = options.page_of ? options.page_of(instance.address) : nullptr});
      continue;
    }
    if (options.is_elsewhere && options.is_elsewhere(instance.address)) continue;
    auto body = TROUPE_TRY(make_body(instance.address));
    made.stages.push_back(make_stage_engine(plan, index, options, std::move(body),
                                            options.page_of ? options.page_of(instance.address) : nullptr));
    made.accounts->add(instance.address, made.stages.back()->page());
  }
  TROUPE_CHECK(made.loader != nullptr, "a validated graph has a source");
  made.plan = std::move(plan);
  made.edges = std::move(edges);
  made.depths = options.depths;
  return made;
}

}  // namespace troupe
