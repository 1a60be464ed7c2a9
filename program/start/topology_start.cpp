#include "program/start/topology_start.hpp"

#include <algorithm>
#include <utility>

#include "messages/try.hpp"
#include "program/launch/launched_nodes.hpp"
#include "program/launch/process_context.hpp"
#include "program/models/file_stamp.hpp"
#include "program/models/own_thread.hpp"
#include "program/run/trained_parts.hpp"
#include "program/run/trained_state.hpp"
#include "program/start/fault_checks.hpp"
#include "program/start/journal_pins.hpp"
#include "program/topology/stage_devices.hpp"
#include "runtime/config/option_names.hpp"
#include "runtime/fault/fault_shape.hpp"
#include "runtime/model/code_layers.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/os/allocator.hpp"
#include "runtime/step/step_ledger.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/transport/transport_table.hpp"

namespace troupe {
namespace {

/// 0 where the run does not train.
std::uint64_t most_micro_batches_of_a_step(const checked_run& run) {
  std::uint64_t most = 0;
  for (const auto& [name, each] : run.parts().pipelines) {
    if (each.options.training) most = std::max(most, each.options.training->num_micro_batches);
  }
  return most;
}

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
    made.cuts.back().ties = bodies.ties_of(name);
    const rewrite_choice& choice = cut.places.choice;
    made.notes.insert(made.notes.end(), choice.notes.begin(), choice.notes.end());
    made.warnings.insert(made.warnings.end(), choice.warnings.begin(), choice.warnings.end());
  }
  return made;
}

expected<void> find_device_channels(probe_report& into, const checked_run& run) {
  return device_channels(run).map([&](const std::vector<bool>& channels) {
    for (std::size_t number = 0; number < channels.size(); ++number) {
      if (channels[number]) into.device_channels.push_back(number);
    }
  });
}

class starter {
 public:
  starter(const checked_run& run, const topology_start_options& options)
      : run_(run), options_(options), plan_(run.plan), bodies_(run, run.options.threads.value_or(1)) {}

  expected<started_run> start(const sample_block& first) {
    load_kernels(run_);
    TROUPE_TRY(options_.report ? adopt() : try_out(first));
    for (const cut_report& each : reported_.cuts) TROUPE_TRY(add_ties(plan_, each.ties));
    tell();
    auto faults = TROUPE_TRY(plan_faults());
    if (run_.plan.trains) {
      TROUPE_TRY(find_trained());
      states_ = TROUPE_TRY(make_states());
    }
    auto workers = TROUPE_TRY(set_up_workers());
    started_run made;
    made.states = states_;
    made.trained = trained_;
    if (run_.options.trace) made.trace = std::make_shared<trace_clock>();
    for (stage_index node = 0; node < run_.plan.nodes.size(); ++node) made.layers.push_back(layers_of(node));
    for (const cut_report& each : reported_.cuts) {
      made.cut_by.emplace(each.name, each.cut_by);
      made.bits_depend_on.emplace(each.name, each.bits_depend_on);
      if (each.runs_plain) made.plain_pipelines.push_back(each.name);
    }
    made.warnings = reported_.warnings;
    for (const auto& [name, cut] : bodies_.cuts()) {
      const layered_graph& plain = cut.model->plain();
      if (has_code_layers(plain.model()))
        made.built_weights.emplace(name, model_weights{plain.model().weights, weights_by_layer(plain)});
    }
    const assembly_options how{.depths = {.from_loader = prefetch_slots_for(bytes_of(loaded_activation(first))),
                                          .between_stages = stage_slots_for(reported_.between_bytes)},
                               .trace = made.trace.get(),
                               .step_micro_batches = most_micro_batches_of_a_step(run_),
                               .is_elsewhere = workers ? workers->is_remote : nullptr,
                               .page_of = workers ? workers->page_finder() : nullptr};
    auto engines = TROUPE_TRY(assemble(
        wiring_plan(plan_), within_process(transport_name(run_.options.workers.transport)).within(edge_settings()),
        [&](stage_address at) {
          auto body = make_body(at);
          return body && faults ? expected<engine_body>(faults->wrap(at, std::move(*body))) : std::move(body);
        },
        how));
    engines.steps = make_steps();
    if (options_.stop.stop_requested()) return stopped_early("topology");
    if (!workers) {
      made.running = running_topology::start(std::move(engines), std::move(faults));
      return made;
    }
    workers->faults = std::move(faults);
    if (has_edge_faults(run_.options.faults)) {
      workers->edges = workers->faults->wrap(workers->edges, plan_);
    }
    made.running = TROUPE_TRY(running_topology::start(std::move(engines), std::move(workers), run_.process->launch));
    return made;
  }

 private:
  expected<void> try_out(const sample_block& first) {
    topology_probe probe(run_, bodies_, first, journaled_plain(run_.what, run_.options.journal));
    return probe.run(options_.classes, nullptr, options_.stop).and_then([&] {
      reported_ = report_of(bodies_, probe);
      return find_device_channels(reported_, run_);
    });
  }

  /// Null where the run does not train.
  [[nodiscard]] std::shared_ptr<step_ledger> make_steps() const {
    if (!run_.plan.trains) return nullptr;
    const cut_options& pipeline = run_.parts().pipelines.begin()->second.options;
    const training_options& training = *pipeline.training;
    std::vector<stage_address> voters;
    for (const wired_instance& each : run_.plan.instances) {
      if (run_.plan.nodes[each.address.stage].kind != node_kind::source) voters.push_back(each.address);
    }
    const training_snapshot* const from = pipeline.training_from.get();
    const std::uint64_t first_step = from == nullptr ? 0 : from->step;
    const std::uint64_t first_rate = from == nullptr ? 0 : from->counts.schedule_step;
    return std::make_shared<step_ledger>(
        std::move(voters),
        step_policy{.learning_rate = [rate = training.learning_rate, first_step,
                                      first_rate](std::uint64_t step) { return rate(step - first_step + first_rate); },
                    .clip_norm = training.clip_norm,
                    .first_step = first_step,
                    .first_number = from == nullptr ? 0 : from->counts.decisions});
  }

  expected<void> find_trained() {
    for (const auto& [name, asked] : run_.parts().pipelines) {
      if (!asked.options.training) continue;
      const cut_report& cut = *find_cut(reported_, name);
      trained_pipeline& made = trained_[name];
      made.boundaries = cut.boundaries;
      if (asked.model.layers() != nullptr) continue;
      if (const auto here = bodies_.cuts().find(name); here != bodies_.cuts().end()) {
        made.graph = trained_graph_of(asked, *here->second.model);
      } else {
        const layered_model_ptr model = TROUPE_TRY(asked.model.open(asked.options, name));
        model->bind({cut.inputs.begin(), cut.inputs.end()});
        made.graph = trained_graph_of(asked, *model);
      }
    }
    return {};
  }

  /// A page each, which the stage makes as large as its weights are; or the state with which the training begins.
  [[nodiscard]] expected<std::map<stage_address, blob>> make_states() const {
    std::map<stage_address, blob> states;
    for (const wired_instance& instance : run_.plan.instances) {
      const cut_node* part = run_.part_at(instance.address.stage);
      if (part == nullptr) continue;
      const auto& from = run_.parts().pipelines.at(part->pipeline).options.training_from;
      blob memory = TROUPE_TRY(blob::make("troupe-state", 1, [](std::span<std::byte>) {}));
      if (from) {
        TROUPE_TRY(write_training(*from, run_, instance.address.stage, trained_.at(part->pipeline), memory));
      }
      states.emplace(instance.address, std::move(memory));
    }
    return states;
  }

  [[nodiscard]] expected<engine_body> make_body(stage_address at) const {
    const auto state = states_.find(at);
    if (state == states_.end()) return bodies_.make_for_engine(at);
    auto descriptor = TROUPE_TRY(state->second.copy());
    // All stages end with this process, so nothing would go on; and a change of protection delays all its threads.
    constexpr bool protects = false;
    return bodies_.make_for_engine(
        at, std::make_shared<shared_memory>(TROUPE_TRY(shared_memory::adopt(std::move(descriptor), 1))), protects);
  }

  void tell() const {
    if (!options_.log) return;
    for (const std::vector<std::string>* texts : {&reported_.notes, &reported_.warnings}) {
      for (const std::string& each : *texts) options_.log({.level = log_level::warning, .text = each, .stage = {}});
    }
  }

  /// Null without a plan.
  [[nodiscard]] expected<std::shared_ptr<fault_injector>> plan_faults() const {
    if (run_.options.faults.empty()) return std::shared_ptr<fault_injector>();
    return fault_injector::start(run_.options.faults, fault_shape_of(run_), options_.log);
  }

  /// Takes the report of probe_topology() in another process, in place of a try-out here.
  expected<void> adopt() {
    reported_ = *options_.report;
    const auto is_none = [&](std::uint64_t channel) { return channel >= run_.plan.channels.size(); };
    if (std::ranges::any_of(reported_.device_channels, is_none)) {
      return fail(error_code::wire_malformed, "the report of the try-out", "it knows of an edge that is none");
    }
    for (const auto& [name, asked] : run_.parts().pipelines) {
      const cut_report* cut = find_cut(reported_, name);
      if (cut == nullptr) {
        return fail(error_code::wire_malformed, "the report of the try-out", "it does not know pipeline " + name);
      }
      TROUPE_TRY(check_cut(*cut, asked.options.stages));
      if (run_.has_workers(name)) continue;
      TROUPE_TRY(cut_as(name, asked, *cut));
    }
    return {};
  }

  expected<void> cut_as(const std::string& name, const cut_pipeline& asked, const cut_report& reported) {
    auto model = TROUPE_TRY(asked.model.open(asked.options, name));
    return cut_at(std::move(model), bodies_.request_of(asked), places_of(reported)).map([&](cut_model made) {
      bodies_.add(name, std::move(made));
    });
  }

  [[nodiscard]] transport_options edge_settings() const {
    const auto& asked = run_.options.workers.checksums;
    return {.codec = std::make_shared<tensor_codec>(),
            .payload_crc = corrupts_edges(run_.options.faults) ? true : asked,
            .silence = run_.options.workers.timeout,
            .devices = tools_to_offer(run_)};
  }

  /// Null if all stages are to live in this process.
  expected<std::shared_ptr<worker_setup>> set_up_workers() {
    const worker_options& asked = run_.options.workers;
    if (!run_.has_workers()) return std::shared_ptr<worker_setup>();
    auto setup = std::make_shared<worker_setup>();
    std::vector<bool> remote;
    std::vector<assignment_data> assignments;
    for (stage_index node = 0; node < run_.plan.nodes.size(); ++node) {
      remote.push_back(run_.roles[node].has_worker);
      assignments.push_back(assignment_for(node));
    }
    setup->is_remote = [remote](stage_address at) { return remote[at.stage]; };
    setup->wanted_node = run_.wanted_nodes();
    setup->assignment = [assignments](stage_address at) { return assignments[at.stage]; };
    // of the files as they were before they were read: workers refuse what came later
    setup->fingerprint = options_.report ? options_.report->fingerprint : run_.fingerprint();
    setup->codec = std::make_shared<tensor_codec>();
    setup->asked = asked;
    setup->from = run_.process->from;
    setup->environment = run_.environment();
    if (const auto* launch = run_.process->launch) {
      setup->home = launch->home();
      TROUPE_TRY(find_files(*setup));
    }
    setup->edges = TROUPE_TRY(open_edges(edge_row_name(run_)));
    setup->device_channels = {reported_.device_channels.begin(), reported_.device_channels.end()};
    TROUPE_TRY(make_local_pages(*setup, run_.plan));
    setup->states = states_;
    return setup;
  }

  /// Model files of the pipelines in workers.
  [[nodiscard]] expected<void> find_files(worker_setup& setup) const {
    for (const auto& [name, asked] : run_.parts().pipelines) {
      if (!run_.has_workers(name)) continue;
      for (const std::string& file : asked.model.files()) {
        auto identity = TROUPE_TRY(identity_of(file));
        setup.files.push_back(std::move(identity));
      }
    }
    return {};
  }

  [[nodiscard]] expected<std::shared_ptr<transport>> open_edges(std::string_view name) const {
    auto* const launch = run_.process->launch;
    if (launch == nullptr) return between_processes(name).between(edge_settings());
    transport_options settings = edge_settings();
    settings.endpoint = launch->endpoint();
    return between_nodes(name).between(settings);
  }

  [[nodiscard]] assignment_data assignment_for(stage_index node) const {
    const cut_node* part = run_.part_at(node);
    if (part == nullptr) return {.threads = run_.options.threads.value_or(1)};
    const std::uint32_t threads = bodies_.request_of(run_.parts().pipelines.at(part->pipeline)).threads;
    return assignment_of(*find_cut(reported_, part->pipeline), threads, part->part);
  }

  [[nodiscard]] std::vector<std::string> layers_of(stage_index node) const {
    const cut_node* part = run_.part_at(node);
    return part == nullptr ? std::vector<std::string>{} : find_cut(reported_, part->pipeline)->layers[part->part];
  }

  const checked_run& run_;
  const topology_start_options& options_;
  /// The run's, with the channels of tied weights.
  wiring_plan plan_;
  /// Bodies of the stages that run in this process.
  stage_bodies bodies_;
  probe_report reported_;
  std::map<std::string, trained_pipeline> trained_;
  /// By stage that trains.
  std::map<stage_address, blob> states_;
};

}  // namespace

expected<started_run> start_topology(const checked_run& run, const topology_start_options& options,
                                     const sample_block& first) {
  keep_freed_memory();
  return in_own_thread("topology", "the pipeline could not be started",
                       [&] { return starter(run, options).start(first); });
}

expected<probe_report> probe_topology(const checked_run& run, std::uint32_t classes, const sample_block& first,
                                      const probe_note& note) {
  const std::uint64_t fingerprint = run.fingerprint();  // before files are read: workers refuse what came later
  load_kernels(run);
  stage_bodies bodies(run, run.options.threads.value_or(1));
  topology_probe probe(run, bodies, first, journaled_plain(run.what, run.options.journal));
  TROUPE_TRY(probe.run(classes, note, {}));
  probe_report made = report_of(bodies, probe);
  made.fingerprint = fingerprint;
  TROUPE_TRY(find_device_channels(made, run));
  return made;
}

}  // namespace troupe
