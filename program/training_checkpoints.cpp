#include <filesystem>
#include <utility>

#include <ATen/ops/full.h>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "program/engine_state.hpp"
#include "program/engine_topology.hpp"
#include "program/models/own_thread.hpp"
#include "program/run/abandoned_threads.hpp"
#include "program/run/trained_state.hpp"
#include "program/start/run_checks.hpp"
#include "program/training_engine_state.hpp"
#include "runtime/checkpoint/file_sums.hpp"
#include "runtime/checkpoint/load_files.hpp"
#include "runtime/checkpoint/save_files.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

/// In optimizer_name, an int64 scalar: training_snapshot::step.
constexpr const char* step_key = "step";

/// Names are "INDEX.NAME".
std::vector<state_dict> by_number(const state_dict& weights, std::size_t layers) {
  std::vector<state_dict> made(layers);
  for (const named_tensor& each : weights) {
    const std::size_t dot = each.name.find('.');
    made.at(std::stoul(each.name.substr(0, dot))).push_back({each.name.substr(dot + 1), each.tensor});
  }
  return made;
}

state_dict optimizer_states(const training_snapshot& from) {
  state_dict made = from.moments;
  made.push_back({step_key, at::full({}, static_cast<std::int64_t>(from.step), at::kLong)});
  return made;
}

expected<void> read_optimizer(const std::filesystem::path& folder, training_snapshot& into) {
  const std::filesystem::path file = folder / optimizer_name;
  const file_sums sums = TROUPE_TRY(file_sums::read(folder));
  TROUPE_TRY(sums.check(file));
  state_dict states = TROUPE_TRY(load_weights(file));
  for (named_tensor& each : states) {
    if (each.name != step_key) {
      into.moments.push_back(std::move(each));
    } else if (each.tensor.scalar_type() == at::kLong && each.tensor.numel() == 1 &&
               each.tensor.item<std::int64_t>() >= 0) {
      into.step = static_cast<std::uint64_t>(each.tensor.item<std::int64_t>());
    } else {
      return fail(error_code::model_unreadable, file.string(), "its step is no number of steps",
                  "load another checkpoint");
    }
  }
  return {};
}

}  // namespace

const trained_pipeline& training_engine::impl::trained() const {
  return engine->impl_->stages.trained.begin()->second;
}

std::vector<state_dict> training_engine::impl::by_layer(const state_dict& weights) const {
  const trained_pipeline& model = trained();
  if (model.graph) return split_by_layer(weights_by_layer(*model.graph), weights);
  return by_number(weights, model.boundaries.back());
}

expected<training_snapshot> training_engine::impl::snapshot() const {
  const pipeline_engine::impl& pipeline = *engine->impl_;
  return in_own_thread("weights", "the weights could not be read",
                       [&] { return read_training(pipeline.checked, pipeline.stages, decided); });
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
  const training_snapshot all = TROUPE_TRY(impl_->snapshot());
  auto content = std::make_shared<const checkpoint_content>(checkpoint_content{
      .layers = impl_->by_layer(all.weights), .optimizer = optimizer_states(all), .client_state = state});
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

expected<loaded_checkpoint> training_engine::load_checkpoint(const std::filesystem::path& dir, const std::string& tag,
                                                             bool optimizer_states) {
  const auto from = TROUPE_TRY(open_tag(dir, tag));
  auto loaded = TROUPE_TRY(load_states(from));
  auto all = std::make_shared<training_snapshot>();
  TROUPE_TRY(in_own_thread("weights", "the checkpoint could not be read", [&]() -> expected<void> {
    auto layers = TROUPE_TRY(load_layers(from));
    if (const auto& graph = impl_->trained().graph) {
      const auto names = weights_by_layer(*graph);
      const auto given = TROUPE_TRY(by_model_names(from, std::move(layers), names));
      all->weights = TROUPE_TRY(fitted_state(graph->model().weights, names, given, true, from.folder.string()));
      layers.clear();
    }
    for (layer_state& layer : layers) {
      for (named_tensor& each : layer.weights) {
        all->weights.push_back({std::to_string(layer.layer) + "." + each.name, std::move(each.tensor)});
      }
    }
    if (!optimizer_states) return {};
    return read_optimizer(from.folder, *all);
  }));
  TROUPE_TRY(impl_->begin_with(std::move(all)));
  return loaded;
}

/// The stages stop, and others begin with the snapshot. If they cannot, they begin with what there was before.
expected<void> training_engine::impl::begin_with(std::shared_ptr<const training_snapshot> given) {
  pipeline_engine::impl& pipeline = *engine->impl_;
  const auto before = std::make_shared<const training_snapshot>(TROUPE_TRY(snapshot()));
  if (!pipeline.stages.running->stop(stop_mode::drain, limits::stop_timeout)) {
    add_abandoned_thread();
    return fail(error_code::stage_unresponsive, "load of a checkpoint", "a stage did not come back from its work");
  }
  const auto restart = [&](const std::shared_ptr<const training_snapshot>& with) -> expected<void> {
    pipeline.options.training_from = with;
    pipeline.checked = TROUPE_TRY(check_run(topology_of(*pipeline.model, pipeline.options), pipeline.checked.options,
                                            *pipeline.checked.process, pipeline.checked.name));
    TROUPE_TRY(pipeline.start(pipeline.checked));
    steps = with->step;
    decided.reset();
    return {};
  };
  const auto started = restart(given);
  if (!started) static_cast<void>(restart(before));
  return started;
}

}  // namespace troupe
