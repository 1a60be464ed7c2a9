#include "program/topology_start.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "messages/check.hpp"
#include "program/cut_model.hpp"
#include "program/topology_worker.hpp"
#include "runtime/engine/make_wiring.hpp"
#include "runtime/model/optimize.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/stage/casting_body.hpp"
#include "runtime/stage/function_body.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/topology/plan_fingerprint.hpp"

namespace troupe {
namespace {

expected<layer_chain> open_chain(const model_source& source, const std::string& name, const cut_options& options) {
  auto chain = std::visit(
      [&](const auto& given) -> expected<layer_chain> {
        using kind = std::decay_t<decltype(given)>;
        if constexpr (std::is_same_v<kind, std::string>) {
          return load_chain(given, {.allow_effects = options.allow_effects});
        } else if constexpr (std::is_same_v<kind, torch::jit::Module>) {
          return make_chain(given, name);
        } else {
          return given;
        }
      },
      source);
  if (!chain || !options.dtype) return chain;
  for (layer& each : chain->layers) {
    each.module = each.module.clone();
    each.module.to(*options.dtype);
  }
  return chain;
}

class starter {
 public:
  starter(const topology& what, wiring_plan plan, const topology_start_options& options)
      : what_(what), plan_(std::move(plan)), options_(options), outputs_(plan_.nodes.size()) {}

  expected<void> try_out(const sample_block& first, const std::function<void(const std::string&)>& note = {}) {
    take_first(first);
    for (stage_index node = 0; node < plan_.nodes.size(); ++node) {
      if (plan_.nodes[node].kind == node_kind::source) continue;
      if (options_.stop.stop_requested()) return stopped_early("topology");
      if (note) note(plan_.nodes[node].name);
      if (auto ran = try_node(node); !ran) return ran;
    }
    reported_ = report();
    return judge_sinks(what_, plan_, outputs_, options_.classes);
  }

  /// What try_out() found in another process, in place of it.
  expected<void> adopt(const sample_block& first) {
    take_first(first);
    reported_ = *options_.report;
    for (const auto& [name, asked] : what_.pipelines()) {
      const cut_report* cut = find_cut(name);
      if (cut == nullptr) return not_reported(name);
      if (auto fits = check_cut(*cut, asked.options.stages); !fits) return fits;
      if (auto made = cut_if_local(name, asked, *cut); !made) return made;
    }
    return {};
  }

  [[nodiscard]] const probe_report& found() const { return reported_; }

  void take_first(const sample_block& first) {
    activation loaded;
    loaded.samples = {0, static_cast<std::uint64_t>(first.inputs.begin()->second.size(0))};
    loaded.tensors = to_payload(first.inputs);
    if (!first.labels.empty()) loaded.passengers = to_payload(first.labels);
    for (stage_index node = 0; node < plan_.nodes.size(); ++node) {
      if (plan_.nodes[node].kind == node_kind::source) outputs_[node] = {loaded};
    }
  }

  expected<std::shared_ptr<stage_body>> make_body(stage_address at) {
    const wired_node& node = plan_.nodes[at.stage];
    const topology::content& content = what_.contents().at(node.name);
    if (const auto* stage = std::get_if<topology::stage_node>(&content)) return make_function(*stage, at);
    if (const auto* route = std::get_if<topology::route_node>(&content)) {
      return std::make_shared<route_body>(node.name, route->cases);
    }
    if (std::holds_alternative<topology::join_node>(content)) return std::make_shared<join_body>(node.name);
    const auto& part = std::get<topology::cut_node>(content);
    auto body = cuts_.at(part.pipeline).make_body(part.part, at.stage);
    const auto dtype = what_.pipelines().at(part.pipeline).options.dtype;
    if (!body || !dtype || part.part > 0) return body;
    return std::make_shared<casting_body>(std::move(*body), *dtype);
  }

  expected<model_pipeline> start() {
    std::vector<std::vector<std::string>> layers(plan_.nodes.size());
    for (std::size_t node = 0; node < layers.size(); ++node) layers[node] = layers_of(node);
    auto workers = set_up_workers();
    if (!workers) return tl::make_unexpected(workers.error());
    model_pipeline made;
    if (options_.trace) made.trace = std::make_shared<trace_clock>();
    made.layers = std::move(layers);
    const assembly_options how{.depths = depths(),
                               .trace = made.trace.get(),
                               .is_elsewhere = *workers ? (*workers)->is_remote : nullptr,
                               .page_of = *workers ? (*workers)->page_finder() : nullptr};
    auto engines = assemble(
        wiring_plan(plan_), local_edges(options_.transport), [this](stage_address at) { return make_body(at); }, how);
    if (!engines) return tl::make_unexpected(engines.error());
    return start_assembly(std::move(made), std::move(*engines), std::move(*workers));
  }

  /// In a worker: the one body that it is to be.
  expected<std::shared_ptr<stage_body>> make_assigned(const worker_assignment& to, const payload_ptr& warm_up,
                                                      spare_models& spare) {
    const topology::content& content = what_.contents().at(plan_.nodes[to.address.stage].name);
    const auto* part = std::get_if<topology::cut_node>(&content);
    // A worker with a stage keeps no model that it does not need.
    auto prepared = spare.take(part == nullptr ? std::string() : part->pipeline);
    if (part != nullptr) {
      const topology::cut_pipeline& asked = what_.pipelines().at(part->pipeline);
      const bool is_prepared = prepared.has_value();
      auto chain = is_prepared ? expected<layer_chain>(std::move(*prepared))
                               : open_chain(asked.model, part->pipeline, asked.options);
      if (!chain) return tl::make_unexpected(chain.error());
      const auto input = warm_up_of(warm_up, to.incarnation > 0);
      if (!input) return tl::make_unexpected(input.error());
      auto made = cut_again(std::move(*chain), request_of(asked, to.threads),
                            {to.boundaries.begin(), to.boundaries.end()}, part->part, *input, is_prepared);
      if (!made) return tl::make_unexpected(made.error());
      cuts_.emplace(part->pipeline, std::move(*made));
    }
    return make_body(to.address);
  }

 private:
  static cut_request request_of(const topology::cut_pipeline& asked, std::uint32_t threads) {
    return {.stages = asked.options.stages,
            .threads = threads,
            .optimize = asked.options.optimize,
            .partition = asked.options.partition};
  }

  /// Null if all stages are to live in this process.
  expected<std::shared_ptr<worker_setup>> set_up_workers() {
    if (!options_.workers) return std::shared_ptr<worker_setup>();
    std::vector<bool> remote;
    for (const wired_node& node : plan_.nodes) remote.push_back(is_remote(node.name));
    auto setup = make_worker_setup(plan_, *options_.workers, [remote](stage_address at) { return remote[at.stage]; });
    if (!setup) return setup;
    std::vector<stage_parcel> parcels;
    for (const wired_node& node : plan_.nodes) parcels.push_back(parcel_for(node));
    (*setup)->parcel = [parcels](stage_address at) { return parcels[at.stage]; };
    return setup;
  }

  [[nodiscard]] stage_parcel parcel_for(const wired_node& node) const {
    const auto content = what_.contents().find(node.name);
    const auto* part = content == what_.contents().end() ? nullptr : std::get_if<topology::cut_node>(&content->second);
    if (part == nullptr) return {.threads = options_.threads};
    return parcel_of(*find_cut(part->pipeline), threads_of(what_.pipelines().at(part->pipeline)), part->part);
  }

  [[nodiscard]] bool is_remote(const std::string& node) const {
    return options_.all_in_processes || what_.wants_process(node);
  }
  [[nodiscard]] std::uint32_t threads_of(const topology::cut_pipeline& asked) const {
    return asked.options.threads.value_or(options_.threads);
  }

  [[nodiscard]] const cut_report* find_cut(const std::string& pipeline) const {
    const auto found = std::ranges::find(reported_.cuts, pipeline, &cut_report::name);
    return found == reported_.cuts.end() ? nullptr : &*found;
  }

  static tl::unexpected<error> not_reported(const std::string& pipeline) {
    return fail(error_code::wire_malformed, "the report of the try-out", "it does not know pipeline " + pipeline);
  }

  [[nodiscard]] probe_report report() const {
    probe_report made{.cuts = {}, .between_bytes = largest_between()};
    for (const auto& [name, cut] : cuts_) made.cuts.push_back(report_of(cut, name));
    return made;
  }

  /// The parts of a pipeline live all in workers, or all here.
  expected<void> cut_if_local(const std::string& name, const topology::cut_pipeline& asked,
                              const cut_report& reported) {
    if (options_.all_in_processes || asked.options.process) return {};
    auto chain = open_chain(asked.model, name, asked.options);
    if (!chain) return tl::make_unexpected(chain.error());
    std::vector<at::Tensor> warm_up;
    for (const payload_ptr& each : reported.warm_up) {
      warm_up.push_back(each ? as_tensors(each).single() : at::Tensor());
    }
    auto made = cut_as(*chain, request_of(asked, threads_of(asked)),
                       {reported.boundaries.begin(), reported.boundaries.end()}, std::move(warm_up), options_.stop);
    if (!made) return tl::make_unexpected(made.error());
    cuts_.emplace(name, std::move(*made));
    return {};
  }

  expected<void> try_node(stage_index node) {
    std::vector<activation> inputs = inputs_of(node);
    if (auto fine = cut_here(node, inputs.front()); !fine) return fine;
    activation header = inputs.front();
    header.tensors = nullptr;
    outputs_[node].assign(plan_.nodes[node].outputs.size(), header);
    if (std::ranges::all_of(inputs, &activation::is_empty_part)) return {};
    auto body = make_body({node, 0});
    if (!body) return tl::make_unexpected(body.error());
    return try_body(**body, inputs, outputs_[node], plan_.nodes[node].name);
  }

  static expected<void> try_body(stage_body& body, std::span<const activation> inputs, std::span<activation> outputs,
                                 const std::string& name) try {
    body.on_start();
    return body.run(inputs, outputs);
  } catch (const std::exception& e) {
    return fail(error_code::forward_failed, name, std::string("it could not start: ") + e.what());
  } catch (...) {
    return fail(error_code::forward_failed, name, "it could not start: it threw something that is no std::exception");
  }

  [[nodiscard]] std::vector<activation> inputs_of(stage_index node) const {
    std::vector<activation> inputs(plan_.nodes[node].inputs.size());
    for (const wired_channel& channel : plan_.channels) {
      if (plan_.instances[channel.consumer].address != stage_address{node, 0}) continue;
      const stage_index from = plan_.instances[channel.producer].address.stage;
      inputs[channel.input_port] = outputs_[from][channel.output_port];
    }
    return inputs;
  }

  /// The first part of a pipeline cuts it, by what arrives.
  expected<void> cut_here(stage_index node, const activation& input) {
    const auto* part = std::get_if<topology::cut_node>(&what_.contents().at(plan_.nodes[node].name));
    if (part == nullptr || part->part > 0) return {};
    const topology::cut_pipeline& asked = what_.pipelines().at(part->pipeline);
    auto chain = open_chain(asked.model, part->pipeline, asked.options);
    if (!chain) return tl::make_unexpected(chain.error());
    cut_request request = request_of(asked, threads_of(asked));
    at::Tensor sample;
    if (input.is_empty_part()) {
      if (request.partition == "profile") request.partition = "parameters";
    } else {
      if (as_tensors(input.tensors).tensors().size() != 1) {
        return fail(error_code::forward_failed, part->pipeline,
                    "a chain of layers takes one tensor, and it gets several", "let the stage before it return one");
      }
      sample = as_tensors(input.tensors).single();
      if (asked.options.dtype && sample.is_floating_point()) sample = sample.to(*asked.options.dtype);
    }
    auto made = cut(*chain, request, sample, options_.stop);
    if (!made) return tl::make_unexpected(made.error());
    cuts_.emplace(part->pipeline, std::move(*made));
    return {};
  }

  expected<std::shared_ptr<stage_body>> make_function(const topology::stage_node& stage, stage_address at) const {
    const wired_node& node = plan_.nodes[at.stage];
    function_body_options options{.context = {.name = node.name,
                                              .replica = at.replica,
                                              .replicas = node.replicas,
                                              .threads = stage.options.threads.value_or(options_.threads),
                                              .dtype = stage.options.dtype},
                                  .inputs = node.inputs,
                                  .outputs = node.outputs};
    std::shared_ptr<stage_function> made;
    try {
      made = stage.recipe.factory()(options.context);
    } catch (const std::exception& e) {
      return fail(error_code::forward_failed, node.name, std::string("its factory failed: ") + e.what());
    } catch (...) {
      return fail(error_code::forward_failed, node.name,
                  "its factory failed: it threw something that is no std::exception");
    }
    if (made == nullptr)
      return fail(error_code::forward_failed, node.name, "its factory returned nothing", "return an object");
    return std::make_shared<function_body>(std::move(made), std::move(options));
  }

  [[nodiscard]] std::vector<std::string> layers_of(std::size_t node) const {
    const auto content = what_.contents().find(plan_.nodes[node].name);
    if (content == what_.contents().end()) return {};
    const auto* part = std::get_if<topology::cut_node>(&content->second);
    return part == nullptr ? std::vector<std::string>{} : find_cut(part->pipeline)->layers[part->part];
  }

  [[nodiscard]] edge_depths depths() const {
    const auto& loaded = outputs_.back();  // the source is the last node
    return {.from_loader = prefetch_slots_for(bytes_of(loaded.front())),
            .between_stages = stage_slots_for(reported_.between_bytes)};
  }

  /// Of what passes for a whole micro-batch over edges whose depth follows from that; 0 where the first one left one of
  /// them without samples.
  [[nodiscard]] std::uint64_t largest_between() const {
    std::uint64_t largest = 0;
    for (const wired_channel& channel : plan_.channels) {
      if (!follows_size(plan_, channel)) continue;
      const stage_index from = plan_.instances[channel.producer].address.stage;
      const activation& part = outputs_[from][channel.output_port];
      if (part.is_empty_part()) return 0;
      const std::uint64_t rows = std::max<std::uint64_t>(1, part.row_count());
      largest = std::max(largest, (bytes_of(part) * part.samples.size() + rows - 1) / rows);
    }
    return largest;
  }

  static std::uint64_t bytes_of(const activation& what) {
    std::uint64_t bytes = 0;
    for (const payload_ptr& payload : {what.tensors, what.passengers}) {
      if (payload == nullptr) continue;
      for (const at::Tensor& each : as_tensors(payload).tensors())
        bytes += each.numel() * each.element_size();  // also of what is sparse
    }
    return bytes;
  }

  const topology& what_;
  const wiring_plan plan_;
  const topology_start_options options_;
  /// Of the pipelines that are run, or tried, in this process.
  std::map<std::string, cut_model> cuts_;
  probe_report reported_;
  /// Of the first micro-batch, by node and output.
  std::vector<std::vector<activation>> outputs_;
};

}  // namespace

expected<probe_report> try_topology(const topology& what, std::uint32_t threads, std::uint32_t classes,
                                    const sample_block& first,
                                    const std::function<void(const std::string& node)>& note) {
  auto plan = expand(what.graph());
  if (!plan) return tl::make_unexpected(plan.error());
  const std::uint64_t fingerprint = plan_fingerprint(*plan, settings_of(what));
  starter one(what, std::move(*plan), {.threads = threads, .classes = classes});
  if (auto tried = one.try_out(first, note); !tried) return tl::make_unexpected(tried.error());
  probe_report made = one.found();
  made.fingerprint = fingerprint;
  return made;
}

expected<std::shared_ptr<stage_body>> make_assigned_body(const topology& what, const wiring_plan& plan,
                                                         const worker_assignment& to, const payload_ptr& warm_up,
                                                         spare_models& spare) {
  starter one(what, plan, {.threads = to.threads});
  return one.make_assigned(to, warm_up, spare);
}

void prepare_pipelines(const topology& what, spare_models& spare) {
  for (const auto& [name, asked] : what.pipelines()) {
    const auto* file = std::get_if<std::string>(&asked.model);
    if (file == nullptr) continue;
    spare.prepare(name, *file, [&, name = name, asked = &asked]() -> expected<layer_chain> {
      auto chain = open_chain(asked->model, name, asked->options);
      if (!chain || asked->options.optimize != optimize_mode::layer) return chain;
      return optimize_layers(*chain);
    });
  }
}

expected<model_pipeline> start_topology(const topology& what, const topology_start_options& options,
                                        const sample_block& first) {
  if (auto fine = what.check(); !fine) return tl::make_unexpected(fine.error());
  auto plan = expand(what.graph());
  if (!plan) return tl::make_unexpected(plan.error());
  return in_starting_thread("topology", [&]() -> expected<model_pipeline> {
    starter one(what, std::move(*plan), options);
    if (auto ready = options.report ? one.adopt(first) : one.try_out(first); !ready) {
      return tl::make_unexpected(ready.error());
    }
    return one.start();
  });
}

}  // namespace troupe
