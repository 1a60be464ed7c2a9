#include <chrono>
#include <utility>

#include "messages/try.hpp"
#include "program/engine_state.hpp"
#include "program/engine_topology.hpp"
#include "program/launch/process_context.hpp"
#include "program/models/layered_model.hpp"
#include "program/models/own_thread.hpp"
#include "program/run/abandoned_threads.hpp"
#include "program/start/prepared_run.hpp"
#include "program/start/run_checks.hpp"
#include "runtime/checkpoint/load_files.hpp"
#include "runtime/checkpoint/save_files.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/graph/layer_names.hpp"

namespace troupe {
namespace {

/// The pipeline of an engine (topology_of()).
constexpr const char* pipeline_name = "stage";

/// Kernels run on a thread that ends (own_thread.hpp).
template <class Make>
auto apart(const Make& make) -> decltype(make()) {
  return in_own_thread("weights", "the weights could not be read or written", make);
}

/// In the type that the engine computes in, and of its own.
at::Tensor as_used(const at::Tensor& weight, const std::optional<c10::ScalarType>& dtype, bool is_live) {
  const at::Tensor here = weight.detach().cpu();
  const at::Tensor cast = dtype && here.is_floating_point() ? here.to(*dtype) : here;
  return is_live && cast.is_alias_of(weight) ? cast.clone() : cast;
}

state_dict state_of(const graph_weights& weights, const std::optional<c10::ScalarType>& dtype, bool is_live) {
  state_dict made;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> known;
  for (const graph_weight& each : weights) {
    const auto [found, is_new] = known.try_emplace(each.tensor.unsafeGetTensorImpl());
    if (is_new) found->second = as_used(each.tensor, dtype, is_live);
    made.push_back({each.name, found->second});
  }
  return made;
}

expected<void> check_exchange(const checked_run& run, bool is_finished) {
  if (is_finished) {
    return fail(error_code::interrupted, run.name, "the engine has finished", "load weights before finish()");
  }
  if (run.process->launch != nullptr || run.process->spans_nodes) {
    return fail(error_code::flags_contradict, "load of weights",
                "the stages are on the nodes of a launch, which do not get weights that are loaded later",
                "create the engine from a file that has these weights");
  }
  if (!run.options.journal.file.empty()) {
    return fail(error_code::flags_contradict, "load of weights",
                "the journal is of an evaluation with the weights that the model has",
                "leave the journal out, or create the engine from a file that has these weights");
  }
  return {};
}

}  // namespace

expected<model_weights> pipeline_engine::impl::weights_now() const {
  if (const auto built = stages.built_weights.find(pipeline_name); built != stages.built_weights.end()) {
    return built->second;
  }
  if (checked.fingerprint() != fingerprint) {
    return fail(error_code::worker_mismatch, checked.name, "its file is another one than when the engine was created",
                "leave the model's file alone as long as the engine uses it");
  }
  cut_options plain = checked.parts().pipelines.at(pipeline_name).options;
  plain.dtype.reset();
  return apart([&] {
    return model->open(plain, pipeline_name).map([](const layered_model_ptr& opened) {
      return model_weights{opened->plain().model().weights, weights_by_layer(opened->plain())};
    });
  });
}

/// As the future of a call does: a stage may have to be replaced for a call to end.
void pipeline_engine::impl::wait_for_calls() {
  for (const auto& call : std::exchange(open_calls, {})) {
    while (call.wait_for(limits::report_interval) != std::future_status::ready) stages.running->watch();
  }
}

/// Layers in code are built anew by each start, perhaps with other values than those they have.
expected<void> pipeline_engine::impl::keep_built_weights() {
  const auto built = stages.built_weights.find(pipeline_name);
  if (built == stages.built_weights.end()) return {};
  auto kept = TROUPE_TRY(apart([&]() -> expected<state_dict> { return state_of(built->second.weights, {}, true); }));
  model_source source = model->with_state(std::make_shared<const state_dict>(std::move(kept)), {});
  checked = TROUPE_TRY(check_run(topology_of(source, options), checked.options, *checked.process, checked.name));
  model = std::move(source);
  return {};
}

expected<void> pipeline_engine::impl::exchange(state_dict fitted) {
  wait_for_calls();
  TROUPE_TRY(keep_built_weights());
  std::optional<state_file> file;
  if (checked.has_workers()) file = TROUPE_TRY(apart([&] { return state_file::write(fitted); }));
  model_source source =
      model->with_state(std::make_shared<const state_dict>(std::move(fitted)), file ? file->path() : std::string());
  auto made = TROUPE_TRY(check_run(topology_of(source, options), checked.options, *checked.process, checked.name));
  if (!stages.running->stop(stop_mode::drain, limits::stop_timeout)) {
    add_abandoned_thread();
    return fail(error_code::stage_unresponsive, "load of weights", "a stage did not come back from its forward");
  }
  const std::uint64_t stamp = made.fingerprint();
  const auto started = start(made);
  if (!started) {
    static_cast<void>(start(checked));
    return started;
  }
  checked = std::move(made);
  model = std::move(source);
  fingerprint = stamp;
  weights = std::move(file);
  return {};
}

expected<void> pipeline_engine::impl::start(const checked_run& run) {
  auto started = start_stages(run, first, 0, [to = caller](log_record record) { to->put(std::move(record)); }, {});
  if (!started) return tl::make_unexpected(std::move(started).error());
  {
    const std::lock_guard lock(mutex);
    stages = std::move(*started);
  }
  deliver_log();
  return {};
}

expected<state_dict> pipeline_engine::module_state_dict() {
  const auto now = TROUPE_TRY(impl_->weights_now());
  const bool is_live = !impl_->stages.built_weights.empty();
  return apart([&]() -> expected<state_dict> { return state_of(now.weights, impl_->options.dtype, is_live); });
}

expected<void> pipeline_engine::load_module_state_dict(const state_dict& given, bool strict) {
  TROUPE_TRY(check_exchange(impl_->checked, impl_->is_finished));
  const auto now = TROUPE_TRY(impl_->weights_now());
  auto fitted =
      TROUPE_TRY(apart([&] { return fitted_state(now.weights, now.layers, given, strict, "load_module_state_dict"); }));
  return impl_->exchange(std::move(fitted));
}

expected<void> pipeline_engine::save_checkpoint(const std::filesystem::path& dir, const std::string& tag,
                                                const client_state& state) {
  const auto now = TROUPE_TRY(impl_->weights_now());
  return apart([&] {
    const state_dict all = state_of(now.weights, impl_->options.dtype, false);
    return save_files(dir, tag, {.layers = split_by_layer(now.layers, all), .client_state = state});
  });
}

expected<loaded_checkpoint> pipeline_engine::load_checkpoint(const std::filesystem::path& dir, const std::string& tag,
                                                             bool strict) {
  TROUPE_TRY(check_exchange(impl_->checked, impl_->is_finished));
  const auto from = TROUPE_TRY(open_tag(dir, tag));
  const auto now = TROUPE_TRY(impl_->weights_now());
  auto loaded = TROUPE_TRY(load_states(from));
  auto fitted = TROUPE_TRY(apart([&]() -> expected<state_dict> {
    const auto given = TROUPE_TRY(by_model_names(from, TROUPE_TRY(load_layers(from)), now.layers));
    return fitted_state(now.weights, now.layers, given, strict, from.folder.string());
  }));
  TROUPE_TRY(impl_->exchange(std::move(fitted)));
  return loaded;
}

}  // namespace troupe
