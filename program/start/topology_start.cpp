#include "program/start/topology_start.hpp"

#include <algorithm>
#include <utility>

#include "messages/try.hpp"
#include "program/launch/launched_nodes.hpp"
#include "program/models/file_stamp.hpp"
#include "program/models/own_thread.hpp"
#include "program/start/fault_checks.hpp"
#include "program/start/journal_pins.hpp"
#include "program/start/topology_worker.hpp"
#include "program/topology/stage_devices.hpp"
#include "runtime/config/option_names.hpp"
#include "runtime/fault/fault_shape.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/os/allocator.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/topology/plan_fingerprint.hpp"
#include "runtime/transport/transport_table.hpp"

namespace troupe {
namespace {

const cut_report* find_cut(const probe_report& report, const std::string& pipeline) {
  const auto found = std::ranges::find(report.cuts, pipeline, &cut_report::name);
  return found == report.cuts.end() ? nullptr : &*found;
}

/// Pages of the engines in this process that may have a neighbour in another one.
expected<void> make_local_pages(worker_setup& setup, const wiring_plan& plan) {
  for (const wired_instance& instance : plan.instances) {
    const bool is_source = plan.nodes[instance.address.stage].kind == node_kind::source;
    if (!is_source && setup.is_remote(instance.address)) continue;
    auto page = TROUPE_TRY(shared_page::create());
    setup.local_pages.emplace(instance.address, std::move(page));
  }
  return {};
}

probe_report report_of(const stage_bodies& bodies, const topology_probe& probe) {
  probe_report made{.cuts = {}, .between_bytes = probe.between_bytes()};
  made.warnings = probe.warnings();
  for (const auto& [name, cut] : bodies.cuts()) {
    made.cuts.push_back(report_of(cut, name));
    const layer_choice& choice = cut.places.choice;
    made.notes.insert(made.notes.end(), choice.notes.begin(), choice.notes.end());
    made.warnings.insert(made.warnings.end(), choice.warnings.begin(), choice.warnings.end());
  }
  return made;
}

expected<void> find_device_channels(probe_report& into, const topology& what, const wiring_plan& plan,
                                    const run_options& options) {
  return device_channels(what, plan, device_layout::of(options)).map([&](const std::vector<bool>& channels) {
    for (std::size_t number = 0; number < channels.size(); ++number) {
      if (channels[number]) into.device_channels.push_back(number);
    }
  });
}

class starter {
 public:
  starter(const topology& what, const wiring_plan& plan, const topology_start_options& options)
      : what_(what),
        plan_(plan),
        options_(options),
        bodies_(what, plan, options.run.threads.value_or(1), device_layout::of(options.run)) {}

  expected<started_run> start(const sample_block& first) {
    load_kernels(what_);
    TROUPE_TRY(options_.report ? adopt() : try_out(first));
    tell();
    auto faults = TROUPE_TRY(plan_faults());
    auto workers = TROUPE_TRY(set_up_workers());
    started_run made;
    if (options_.run.trace) made.trace = std::make_shared<trace_clock>();
    for (stage_index node = 0; node < plan_.nodes.size(); ++node) made.layers.push_back(layers_of(node));
    for (const cut_report& each : reported_.cuts) {
      made.cut_by.emplace(each.name, each.cut_by);
      if (!each.plain_layers.empty()) made.plain_layers.emplace(each.name, each.plain_layers);
    }
    made.warnings = reported_.warnings;
    const assembly_options how{.depths = {.from_loader = prefetch_slots_for(bytes_of(loaded_activation(first))),
                                          .between_stages = stage_slots_for(reported_.between_bytes)},
                               .trace = made.trace.get(),
                               .is_elsewhere = workers ? workers->is_remote : nullptr,
                               .page_of = workers ? workers->page_finder() : nullptr};
    auto engines = TROUPE_TRY(assemble(
        wiring_plan(plan_), within_process(transport_name(options_.run.workers.transport)).within(edge_settings()),
        [&](stage_address at) {
          auto body = bodies_.make(at);
          return body && faults ? faults->wrap(at, std::move(*body)) : std::move(body);
        },
        how));
    if (options_.stop.stop_requested()) return stopped_early("topology");
    if (!workers) {
      made.running = running_topology::start(std::move(engines), std::move(faults));
      return made;
    }
    workers->faults = std::move(faults);
    if (has_edge_faults(options_.run.faults)) {
      workers->edges = workers->faults->wrap(workers->edges, plan_);
    }
    auto running = TROUPE_TRY(running_topology::start(std::move(engines), std::move(workers)));
    made.running = std::move(running);
    return made;
  }

 private:
  expected<void> try_out(const sample_block& first) {
    topology_probe probe(what_, plan_, bodies_, first, journaled_choices_of(what_, options_.run.journal));
    return probe.run(options_.classes, nullptr, options_.stop).and_then([&] {
      reported_ = report_of(bodies_, probe);
      return find_device_channels(reported_, what_, plan_, options_.run);
    });
  }

  void tell() const {
    if (!options_.log) return;
    for (const std::vector<std::string>* texts : {&reported_.notes, &reported_.warnings}) {
      for (const std::string& each : *texts) options_.log({.level = log_level::warning, .text = each, .stage = {}});
    }
  }

  /// Null without a plan.
  [[nodiscard]] expected<std::shared_ptr<fault_injector>> plan_faults() const {
    if (options_.run.faults.empty()) return std::shared_ptr<fault_injector>();
    return fault_injector::start(options_.run.faults, fault_shape_of(what_, options_.run, plan_), options_.log);
  }

  /// Takes the report of probe_topology() in another process, in place of a try-out here.
  expected<void> adopt() {
    reported_ = *options_.report;
    const auto is_none = [&](std::uint64_t channel) { return channel >= plan_.channels.size(); };
    if (std::ranges::any_of(reported_.device_channels, is_none)) {
      return fail(error_code::wire_malformed, "the report of the try-out", "it knows of an edge that is none");
    }
    for (const auto& [name, asked] : what_.parts().pipelines) {
      const cut_report* cut = find_cut(reported_, name);
      if (cut == nullptr) {
        return fail(error_code::wire_malformed, "the report of the try-out", "it does not know pipeline " + name);
      }
      TROUPE_TRY(check_cut(*cut, asked.options.stages));
      // the parts of a pipeline live all in workers, or all here
      if (what_.parts().has_workers(options_.run, part_name(name, 0))) continue;
      TROUPE_TRY(cut_as(name, asked, *cut));
    }
    return {};
  }

  expected<void> cut_as(const std::string& name, const cut_pipeline& asked, const cut_report& reported) {
    auto model = TROUPE_TRY(open_model(asked, name));
    return cut_at(std::move(model), bodies_.request_of(asked), places_of(reported), std::nullopt, options_.stop)
        .map([&](cut_model made) { bodies_.add(name, std::move(made)); });
  }

  [[nodiscard]] transport_options edge_settings() const {
    const auto& asked = options_.run.workers.checksums;
    return {.codec = std::make_shared<tensor_codec>(),
            .payload_crc = corrupts_edges(options_.run.faults) ? true : asked,
            .silence = options_.run.workers.timeout,
            .devices = tools_to_offer(what_, plan_, options_.run)};
  }

  /// Null if all stages are to live in this process.
  expected<std::shared_ptr<worker_setup>> set_up_workers() {
    const worker_options& asked = options_.run.workers;
    if (!what_.parts().has_workers(options_.run)) return std::shared_ptr<worker_setup>();
    auto setup = std::make_shared<worker_setup>();
    std::vector<bool> remote;
    std::vector<assignment_data> assignments;
    for (stage_index node = 0; node < plan_.nodes.size(); ++node) {
      remote.push_back(what_.parts().has_workers(options_.run, plan_.nodes[node].name));
      assignments.push_back(assignment_for(node));
    }
    setup->is_remote = [remote](stage_address at) { return remote[at.stage]; };
    setup->wanted_node = wanted_nodes(what_, plan_);
    setup->assignment = [assignments](stage_address at) { return assignments[at.stage]; };
    // of the files as they were before they were read: workers refuse what came later
    setup->fingerprint = options_.report ? options_.report->fingerprint : plan_fingerprint(plan_, settings_of(what_));
    setup->codec = std::make_shared<tensor_codec>();
    setup->asked = asked;
    setup->from = options_.from;
    if (const auto* launched = launched_nodes::get()) {
      setup->home = launched->home();
      TROUPE_TRY(find_files(*setup));
    }
    auto edges = TROUPE_TRY(open_edges(edge_row_name(what_, plan_, options_.run)));
    setup->edges = std::move(edges);
    setup->device_channels = {reported_.device_channels.begin(), reported_.device_channels.end()};
    TROUPE_TRY(make_local_pages(*setup, plan_));
    return setup;
  }

  /// Model files of the pipelines in workers.
  [[nodiscard]] expected<void> find_files(worker_setup& setup) const {
    for (const auto& [name, asked] : what_.parts().pipelines) {
      const auto* file = std::get_if<std::string>(&asked.model);
      if (file == nullptr || !what_.parts().has_workers(options_.run, part_name(name, 0))) continue;
      auto identity = TROUPE_TRY(identity_of(*file));
      setup.files.push_back(std::move(identity));
    }
    return {};
  }

  [[nodiscard]] expected<std::shared_ptr<transport>> open_edges(std::string_view name) const {
    auto* const launched = launched_nodes::get();
    if (launched == nullptr) return between_processes(name).between(edge_settings());
    transport_options settings = edge_settings();
    settings.endpoint = launched->endpoint();
    return between_nodes(name).between(settings);
  }

  [[nodiscard]] assignment_data assignment_for(stage_index node) const {
    const cut_node* part = bodies_.part_at(node);
    if (part == nullptr) return {.threads = options_.run.threads.value_or(1)};
    const std::uint32_t threads = bodies_.request_of(what_.parts().pipelines.at(part->pipeline)).threads;
    return assignment_of(*find_cut(reported_, part->pipeline), threads, part->part);
  }

  [[nodiscard]] std::vector<std::string> layers_of(stage_index node) const {
    const cut_node* part = bodies_.part_at(node);
    return part == nullptr ? std::vector<std::string>{} : find_cut(reported_, part->pipeline)->layers[part->part];
  }

  const topology& what_;
  const wiring_plan& plan_;
  const topology_start_options& options_;
  /// Bodies of the stages that run in this process.
  stage_bodies bodies_;
  probe_report reported_;
};

}  // namespace

expected<started_run> start_topology(const topology& what, const topology_start_options& options,
                                     const sample_block& first) {
  TROUPE_TRY(what.check());
  const auto plan = TROUPE_TRY(expand(what.parts().graph()));
  keep_freed_memory();
  return in_own_thread("topology", "the pipeline could not be started",
                       [&] { return starter(what, plan, options).start(first); });
}

expected<probe_report> probe_topology(const topology& what, const run_options& options, std::uint32_t classes,
                                      const sample_block& first, const probe_note& note) {
  const auto plan = TROUPE_TRY(expand(what.parts().graph()));
  const std::uint64_t fingerprint = plan_fingerprint(plan, settings_of(what));
  load_kernels(what);
  stage_bodies bodies(what, plan, options.threads.value_or(1), device_layout::of(options));
  topology_probe probe(what, plan, bodies, first, journaled_choices_of(what, options.journal));
  TROUPE_TRY(probe.run(classes, note, {}));
  probe_report made = report_of(bodies, probe);
  made.fingerprint = fingerprint;
  TROUPE_TRY(find_device_channels(made, what, plan, options));
  return made;
}

expected<std::shared_ptr<stage_body>> make_assigned_body(const topology& what, const wiring_plan& plan,
                                                         device_layout layout, const worker_assignment& to,
                                                         const payload_ptr& warm_up, spare_models& spare) {
  stage_bodies bodies(what, plan, to.threads, layout);
  const cut_node* part = bodies.part_at(to.address.stage);
  // A worker with a stage keeps no model that it does not need.
  auto prepared = spare.take(part == nullptr ? std::string() : part->pipeline);
  if (part == nullptr) return bodies.make(to.address);
  const cut_pipeline& asked = what.parts().pipelines.at(part->pipeline);
  auto model =
      TROUPE_TRY(prepared ? expected<layered_model_ptr>(std::move(prepared)) : open_model(asked, part->pipeline));
  const auto input = TROUPE_TRY(warm_up_of(warm_up, to.incarnation > 0));
  cut_request request = bodies.request_of(asked);
  request.threads = to.threads;
  cut_places places{.boundaries = {to.boundaries.begin(), to.boundaries.end()}, .warm_up = {}, .activation_bytes = 0};
  places.warm_up.resize(request.stages);
  places.warm_up.at(part->part) = input;
  places.choice.plain.assign(to.plain_layers.begin(), to.plain_layers.end());
  auto made = TROUPE_TRY(cut_at(std::move(model), request, std::move(places), part->part));
  bodies.add(part->pipeline, std::move(made));
  return bodies.make(to.address);
}

void prepare_pipelines(const topology& what, spare_models& spare) {
  for (const auto& [name, asked] : what.parts().pipelines) {
    const auto* file = std::get_if<std::string>(&asked.model);
    if (file == nullptr) continue;
    spare.prepare(name, *file, [&, name = name, asked = &asked]() -> expected<layered_model_ptr> {
      auto model = open_model(*asked, name);
      const bool is_optimized = asked->options.optimize == optimize_mode::layer && asked->options.device == "cpu";
      if (!model || !is_optimized) return model;
      return (*model)->prepare({}).map([&] { return std::move(*model); });
    });
  }
}

}  // namespace troupe
