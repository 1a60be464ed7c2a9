#include "program/run/training_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <ATen/ops/full.h>

#include "messages/try.hpp"
#include "runtime/checkpoint/file_sums.hpp"

namespace troupe {
namespace {

/// Scalars of type int64 in the file optimizer_name. Moments have names with a dot.
constexpr const char* step_key = "step";
constexpr const char* steps_key = "global_steps";
constexpr const char* decisions_key = "decisions";
constexpr const char* schedule_key = "schedule_step";
constexpr const char* micro_batches_key = "micro_batches";
constexpr const char* samples_key = "samples";
constexpr const char* seed_key = "seed";
constexpr std::array scalar_keys = {step_key,          steps_key,   decisions_key, schedule_key,
                                    micro_batches_key, samples_key, seed_key};

using scalars = std::map<std::string, std::uint64_t>;

named_tensor scalar(const char* name, std::uint64_t value) {
  return {name, at::full({}, static_cast<std::int64_t>(value), at::kLong)};
}

/// The number in "INDEX.NAME".
std::size_t layer_in(const std::string& name) {
  return std::stoul(name.substr(0, name.find('.')));
}

/// Layers of code. `all`: of their weights.
std::vector<layer_names> names_by_number(const state_dict& all, std::size_t layers,
                                         const std::vector<layer_spec>* specs) {
  std::vector<layer_names> made(layers);
  for (std::size_t at = 0; specs != nullptr && at < layers; ++at) made[at].title = layer_name(at, specs->at(at));
  for (const named_tensor& each : all) {
    made.at(layer_in(each.name)).weights.push_back({each.name.substr(each.name.find('.') + 1), each.name});
  }
  return made;
}

std::vector<layer_names> names_of(const trained_pipeline& model, const state_dict& all,
                                  const std::vector<layer_spec>* specs) {
  return model.graph ? weights_by_layer(*model.graph) : names_by_number(all, model.boundaries.back(), specs);
}

/// The model's table with the values that a training has.
graph_weights table_of(const trained_pipeline& model, const state_dict& all) {
  graph_weights made;
  for (const named_tensor& each : all) made.add(each.name, each.tensor, weight_kind::trainable);
  if (model.graph) made.leave_out(model.graph->model().weights.left_out());
  return made;
}

/// Layers with one weight have it in each of their files, and the training has it once.
void leave_out_tied(std::vector<layer_state>& layers, const std::vector<layer_names>& model,
                    const std::vector<layer_spec>& specs) {
  for (layer_state& each : layers) {
    if (each.layer >= specs.size() || !specs[each.layer].tie()) continue;
    const auto& known = model[each.layer].weights;
    std::erase_if(each.weights, [&](const named_tensor& one) {
      return std::ranges::find(known, one.name, &layer_weight_name::key) == known.end();
    });
  }
}

expected<state_dict> read_weights(const tag_folder& from, const trained_pipeline& model,
                                  const std::vector<layer_spec>* specs, bool strict, const state_dict& now) {
  auto layers = TROUPE_TRY(load_layers(from));
  const auto names = names_of(model, now, specs);
  if (specs != nullptr) leave_out_tied(layers, names, *specs);
  const auto given = TROUPE_TRY(by_model_names(from, std::move(layers), names));
  return fitted_state(table_of(model, now), names, given, strict, from.folder.string());
}

struct optimizer_file {
  state_dict moments;
  scalars numbers;

  [[nodiscard]] std::uint64_t number(const char* key, std::uint64_t otherwise) const {
    const auto found = numbers.find(key);
    return found == numbers.end() ? otherwise : found->second;
  }
};

expected<optimizer_file> read_optimizer(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / optimizer_name;
  std::error_code problem;
  if (!std::filesystem::exists(file, problem)) {
    return fail(error_code::model_missing, file.string(), "the checkpoint has no state of a training",
                "load its weights alone, with module_only, or give the checkpoint of a training_engine");
  }
  const file_sums sums = TROUPE_TRY(file_sums::read(folder));
  TROUPE_TRY(sums.check(file));
  optimizer_file made;
  for (named_tensor& each : TROUPE_TRY(load_weights(file))) {
    if (std::ranges::find(scalar_keys, each.name) == scalar_keys.end()) {
      made.moments.push_back(std::move(each));
      continue;
    }
    const bool is_whole = each.tensor.scalar_type() == at::kLong && each.tensor.numel() == 1;
    const std::int64_t number = is_whole ? each.tensor.item<std::int64_t>() : 0;
    if (!is_whole || (number < 0 && each.name != seed_key)) {
      return fail(error_code::model_unreadable, file.string(), "its \"" + each.name + "\" is no number of steps",
                  "load another checkpoint");
    }
    made.numbers[each.name] = static_cast<std::uint64_t>(number);
  }
  if (made.numbers.contains(step_key)) return made;
  return fail(error_code::model_unreadable, file.string(), "it has no number of steps", "load another checkpoint");
}

expected<void> check_seed(const optimizer_file& file, std::uint64_t seed, const std::string& where) {
  const std::uint64_t saved = file.number(seed_key, seed);
  if (saved == seed) return {};
  return fail(error_code::flags_contradict, "load of a checkpoint, seed",
              "the draws of " + where + " have the seed " + std::to_string(saved) + ", and those of this training " +
                  std::to_string(seed),
              "give the training the seed " + std::to_string(saved) + ", or load the weights alone, with module_only");
}

/// `into`: all moments that the training has. E0218 where the file has others, as of another optimizer.
expected<void> take_moments(state_dict moments, bool strict, const std::string& where, state_dict& into) {
  std::map<std::string, at::Tensor> given;
  for (named_tensor& each : moments) given.emplace(each.name, std::move(each.tensor));
  const auto refuse = [&](const std::string& name, const char* what) {
    return fail(error_code::weights_do_not_fit, where, "the moment \"" + name + "\" is " + what,
                "train with the optimizer that the checkpoint is of, or load it without optimizer_states");
  };
  for (named_tensor& each : into) {
    const auto found = given.find(each.name);
    if (found == given.end()) {
      if (strict) return refuse(each.name, "missing");
      continue;
    }
    if (found->second.sizes() != each.tensor.sizes()) return refuse(each.name, "of another size");
    each.tensor = std::move(found->second);
    given.erase(found);
  }
  if (strict && !given.empty()) return refuse(given.begin()->first, "unexpected");
  return {};
}

}  // namespace

checkpoint_content content_of(const training_snapshot& from, const trained_pipeline& model, std::uint64_t seed,
                              client_state state) {
  checkpoint_content made{.layers = split_by_layer(names_of(model, from.weights, nullptr), from.weights),
                          .optimizer = from.moments,
                          .client_state = std::move(state)};
  for (named_tensor& each : std::vector<named_tensor>{scalar(step_key, from.step), scalar(steps_key, from.counts.steps),
                                                      scalar(decisions_key, from.counts.decisions),
                                                      scalar(schedule_key, from.counts.schedule_step),
                                                      scalar(micro_batches_key, from.counts.micro_batches),
                                                      scalar(samples_key, from.counts.samples), scalar(seed_key, seed)})
    made.optimizer.push_back(std::move(each));
  return made;
}

expected<void> read_training_files(const tag_folder& from, const trained_pipeline& model,
                                   const std::vector<layer_spec>* layers, std::uint64_t seed,
                                   const load_checkpoint_options& how, training_snapshot& into) {
  into.weights = TROUPE_TRY(read_weights(from, model, layers, how.strict, into.weights));
  if (how.module_only) return {};
  optimizer_file file = TROUPE_TRY(read_optimizer(from.folder));
  TROUPE_TRY(check_seed(file, seed, from.folder.string()));
  const std::uint64_t step = file.number(step_key, 0);
  if (how.optimizer_states) {
    TROUPE_TRY(take_moments(std::move(file.moments), how.strict, from.folder.string(), into.moments));
    into.step = step;
  }
  if (how.schedule_states) into.counts.schedule_step = file.number(schedule_key, step);
  into.counts.steps = file.number(steps_key, step);
  into.counts.decisions = file.number(decisions_key, into.counts.steps);
  into.counts.micro_batches = file.number(micro_batches_key, 0);
  into.counts.samples = file.number(samples_key, 0);
  return {};
}

}  // namespace troupe
