#include <filesystem>
#include <optional>
#include <utility>

#include <ATen/ops/equal.h>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "program/engine_state.hpp"
#include "program/engine_topology.hpp"
#include "program/launch/process_context.hpp"
#include "program/models/own_thread.hpp"
#include "program/run/abandoned_threads.hpp"
#include "program/run/trained_state.hpp"
#include "program/run/training_files.hpp"
#include "program/start/run_checks.hpp"
#include "program/training_engine_state.hpp"
#include "runtime/checkpoint/load_files.hpp"
#include "runtime/checkpoint/save_files.hpp"
#include "runtime/os/start_thread.hpp"
#include "runtime/step/step_journal.hpp"

namespace troupe {
namespace {

/// Whether training leaves a weight alone that has another value in `given`, by the names of the table.
bool has_other_constants(const graph_weights& table, const state_dict& given) {
  std::size_t at = 0;
  for (const graph_weight& each : table) {
    const at::Tensor& value = given.at(at++).tensor;
    const bool is_trained = each.kind == weight_kind::trainable && each.tensor.is_floating_point();
    if (!is_trained && !at::equal(value, each.tensor)) return true;
  }
  return false;
}

}  // namespace

const trained_pipeline& training_engine::impl::trained() const {
  return engine->impl_->stages.trained.begin()->second;
}

expected<state_dict> training_engine::module_state_dict() {
  return impl_->snapshot().map([](training_snapshot&& all) { return std::move(all.weights); });
}

expected<void> training_engine::save_checkpoint(const std::filesystem::path& dir, const std::string& tag,
                                                const client_state& state) {
  return TROUPE_TRY(save_checkpoint_async(dir, tag, state)).get();
}

expected<std::future<expected<void>>> training_engine::save_checkpoint_async(const std::filesystem::path& dir,
                                                                             const std::string& tag,
                                                                             const client_state& state) {
  impl_->wait_for_save();
  // A loss of power must not take steps from the journal that a checkpoint has behind it.
  if (impl_->journal) TROUPE_TRY(impl_->journal->sync());
  const training_snapshot all = TROUPE_TRY(impl_->snapshot());
  auto content =
      std::make_shared<const checkpoint_content>(content_of(all, impl_->trained(), impl_->training->seed, state));
  std::promise<expected<void>> ended;
  auto outcome = ended.get_future();
  auto save = [dir, tag, content = std::move(content), ended = std::move(ended)]() mutable {
    try {
      ended.set_value(save_files(dir, tag, *content));
    } catch (...) {
      ended.set_value(fail(error_code::internal, "checkpoint", "it could not be written: " + current_exception_text()));
    }
  };
  impl_->saver = TROUPE_TRY(start_thread("checkpoint", std::move(save)));
  return outcome;
}

expected<loaded_training> training_engine::load_checkpoint(const std::filesystem::path& dir, const std::string& tag,
                                                           load_checkpoint_options how) {
  const auto from = TROUPE_TRY(open_tag(dir, tag));
  loaded_training loaded;
  static_cast<loaded_checkpoint&>(loaded) = TROUPE_TRY(load_states(from));
  auto before = std::make_shared<const training_snapshot>(TROUPE_TRY(impl_->snapshot()));
  auto all = std::make_shared<training_snapshot>(*before);
  TROUPE_TRY(in_own_thread("weights", "the checkpoint could not be read", [&] {
    return read_training_files(from, impl_->trained(), impl_->engine->impl_->model->layers(), impl_->training->seed,
                               how, *all);
  }));
  TROUPE_TRY(impl_->begin_with(all, std::move(before)));
  if (how.module_only) return loaded;
  loaded.micro_batches = all->counts.micro_batches;
  loaded.samples = all->counts.samples;
  return loaded;
}

expected<model_source> training_engine::impl::source_with(const state_dict& weights,
                                                          std::optional<state_file>& file) const {
  const pipeline_engine::impl& pipeline = *engine->impl_;
  const layered_graph_ptr& graph = trained().graph;
  if (!graph) return *pipeline.model;
  const bool has_others = TROUPE_TRY(in_own_thread("weights", "the weights could not be compared", [&] {
    return expected<bool>(has_other_constants(graph->model().weights, weights));
  }));
  if (!has_others) return *pipeline.model;
  if (pipeline.checked.process->launch != nullptr || pipeline.checked.process->spans_nodes) {
    return fail(error_code::flags_contradict, "load of weights",
                "what training leaves alone, such as frozen statistics, differs from the model's file, and the nodes "
                "of a launch do not get weights that are loaded later",
                "create the engine from a file that has these weights");
  }
  if (pipeline.checked.has_workers()) {
    file = TROUPE_TRY(
        in_own_thread("weights", "the weights could not be written", [&] { return state_file::write(weights); }));
  }
  return pipeline.model->with_state(std::make_shared<const state_dict>(weights), file ? file->path() : std::string());
}

expected<void> training_engine::impl::stop_stages() const {
  if (engine->impl_->stages.running->stop(stop_mode::drain, limits::stop_timeout)) return {};
  add_abandoned_thread();
  return fail(error_code::stage_unresponsive, "training_engine", "a stage did not come back from its work");
}

expected<void> training_engine::impl::start_stages(const std::shared_ptr<const training_snapshot>& with,
                                                   const model_source& of) {
  pipeline_engine::impl& pipeline = *engine->impl_;
  reader.reset();
  pipeline.options.training_from = with;
  run_options how = pipeline.checked.options;
  how.journal.file = journal_file;  // for its faults
  pipeline.checked =
      TROUPE_TRY(check_run(topology_of(of, pipeline.options), how, *pipeline.checked.process, pipeline.checked.name));
  TROUPE_TRY(pipeline.start(pipeline.checked));
  pipeline.checked.options.journal = {};
  write_as_faults_say();
  pipeline.model = of;
  reader.emplace(pipeline.checked, pipeline.stages, training->protect.kind == protection_kind::shadow);
  counts = with ? with->counts : training_counts{};
  decided.reset();
  is_journal_attached = false;
  return {};
}

/// The stages stop, and others begin with the snapshot. If they cannot, they begin with what there was before, and if
/// they cannot do that either, it is tried again when they are needed.
expected<void> training_engine::impl::begin_with(std::shared_ptr<const training_snapshot> given,
                                                 std::shared_ptr<const training_snapshot> before) {
  if (journal) TROUPE_TRY(journal->replay_from(given->counts.decisions).check_reach());
  pipeline_engine::impl& pipeline = *engine->impl_;
  const model_source source_before = *pipeline.model;
  std::optional<state_file> file;
  const model_source source = TROUPE_TRY(source_with(given->weights, file));
  TROUPE_TRY(stop_stages());
  auto started = start_stages(given, source);
  if (!started && !start_stages(before, source_before)) lost = started.error();
  safe.put(started ? std::move(given) : std::move(before));
  redone = 0;
  if (started && file) pipeline.weights = std::move(file);
  return started;
}

}  // namespace troupe
