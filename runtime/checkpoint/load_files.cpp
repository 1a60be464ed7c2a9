#include "runtime/checkpoint/load_files.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <ATen/ops/empty_like.h>
#include <sys/stat.h>

#include "messages/try.hpp"
#include "runtime/checkpoint/client_state_file.hpp"
#include "runtime/checkpoint/file_sums.hpp"
#include "runtime/graph/replace_weights.hpp"
#include "runtime/weights/name_prefixes.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// What tells a folder from one that took its place; 0 for none.
ino_t stamp_of(const fs::path& folder) {
  struct stat seen {};
  return ::stat(folder.c_str(), &seen) == 0 ? seen.st_ino : 0;
}

std::string text_of(at::IntArrayRef sizes) {
  std::string text = "[";
  for (const std::int64_t each : sizes) text += (text.size() == 1 ? "" : ", ") + std::to_string(each);
  return text + "]";
}

/// What load_weights() makes of the names: by the keys without the prefixes that all of them have.
std::unordered_map<std::string, std::string> names_by_key(const layer_names& layer) {
  state_dict keys;
  for (const layer_weight_name& each : layer.weights) keys.push_back({each.key, {}});
  take_off_wrappers(keys);
  std::unordered_map<std::string, std::string> found;
  for (std::size_t i = 0; i < keys.size(); ++i) found.emplace(keys[i].name, layer.weights[i].name);
  return found;
}

/// A count of steps of training, which no evaluation reads. Files from before PyTorch 0.4.1 lack it, and architectures
/// that are built in have none; PyTorch takes the former, too.
bool is_step_count(const std::string& name) {
  return name == "num_batches_tracked" || name.ends_with(".num_batches_tracked");
}

struct findings {
  std::vector<std::string> missing_names;
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::vector<std::string> other_sizes;

  [[nodiscard]] bool empty() const { return missing.empty() && unexpected.empty() && other_sizes.empty(); }
  [[nodiscard]] std::string text() const {
    std::string made = "the weights do not fit the model";
    for (const auto& [what, names] : {std::pair{"missing", &missing}, std::pair{"of other sizes", &other_sizes},
                                      std::pair{"unexpected", &unexpected}}) {
      if (names->empty()) continue;
      made += "; " + std::to_string(names->size()) + " " + what + ": ";
      for (const std::string& each : *names) made += (&each == &names->front() ? "" : ", ") + each;
    }
    return made;
  }
};

class fitting {
 public:
  fitting(const graph_weights& model, const std::vector<layer_names>& layers) : model_(model) {
    for (const layer_names& layer : layers) {
      for (const layer_weight_name& each : layer.weights) titles_.emplace(each.name, &layer.title);
    }
  }

  expected<state_dict> fit(const state_dict& given, bool strict, const std::string& where) {
    std::vector<std::string> names;
    for (const named_tensor& each : given) {
      given_.emplace(each.name, &each.tensor);
      names.push_back(each.name);
    }
    state_dict made;
    std::unordered_map<const c10::TensorImpl*, at::Tensor> values;
    for (const graph_weight& each : model_) {
      const auto [value, is_new] = values.try_emplace(each.tensor.unsafeGetTensorImpl());
      if (is_new) value->second = value_of(each);
      made.push_back({each.name, value->second});
    }
    const bool fits_nothing = !given.empty() && count_ == 0;
    if (strict || fits_nothing) find_unexpected(given);
    if (!strict && !fits_nothing) found_.missing.clear();
    if (found_.empty()) return made;
    if (const auto prefix = find_other_prefix(found_.missing_names, names)) {
      return fail(error_code::weights_do_not_fit, where, found_.text(), fix_of_prefix(*prefix));
    }
    const bool is_only_strict = found_.other_sizes.empty() && strict && !fits_nothing;
    return fail(error_code::weights_do_not_fit, where, found_.text(),
                is_only_strict
                    ? "give the weights of this model, or add --not-strict (strict = false) if it shall keep its own"
                    : "give weights that were saved from this model");
  }

 private:
  [[nodiscard]] at::Tensor value_of(const graph_weight& weight) {
    const auto found = given_of(weight);
    if (found == nullptr) {
      if (is_step_count(weight.name)) return weight.tensor;
      found_.missing_names.push_back(weight.name);
      found_.missing.push_back(in_layer(weight.name) + " " + text_of(weight.tensor.sizes()));
      return weight.tensor;
    }
    ++count_;
    if (found->sizes() != weight.tensor.sizes()) {
      found_.other_sizes.push_back(in_layer(weight.name) + " has " + text_of(found->sizes()) + " and not " +
                                   text_of(weight.tensor.sizes()));
      return weight.tensor;
    }
    at::Tensor value = found->to(weight.tensor.scalar_type());
    if (value.strides() == weight.tensor.strides() || weight.tensor.is_meta()) return value;
    return at::empty_like(weight.tensor, at::MemoryFormat::Preserve).copy_(value);
  }

  [[nodiscard]] const at::Tensor* given_of(const graph_weight& weight) const {
    if (const auto found = given_.find(weight.name); found != given_.end()) return found->second;
    for (const graph_weight& each : model_) {
      if (!each.tensor.is_same(weight.tensor)) continue;
      if (const auto found = given_.find(each.name); found != given_.end()) return found->second;
    }
    return nullptr;
  }

  void find_unexpected(const state_dict& given) {
    for (const named_tensor& each : given) {
      const bool is_known = model_.find(each.name) != nullptr || model_.left_out().has(each.name);
      if (!is_known && !is_step_count(each.name)) found_.unexpected.push_back(each.name);
    }
  }

  [[nodiscard]] std::string in_layer(const std::string& name) const {
    const auto found = titles_.find(name);
    return found == titles_.end() ? name : *found->second + ": " + name;
  }

  const graph_weights& model_;
  std::unordered_map<std::string, const std::string*> titles_;
  std::unordered_map<std::string, const at::Tensor*> given_;
  findings found_;
  /// Weights of the model that are among those given.
  std::size_t count_ = 0;
};

}  // namespace

expected<std::vector<layer_state>> load_layers(const tag_folder& from, const file_locator& locate) {
  const ino_t before = stamp_of(from.folder);
  std::vector<layer_state> made;
  expected<void> outcome;
  // Where files are fetched, they are compared with the driver's.
  const file_sums sums = locate ? file_sums() : TROUPE_TRY(file_sums::read(from.folder));
  for (const auto& [layer, file] : from.layers) {
    auto weights = sums.check(file).and_then([&, &at = file] { return load_weights(at, locate); });
    if (!weights) {
      outcome = tl::make_unexpected(weights.error());
      break;
    }
    made.push_back({layer, std::move(*weights)});
  }
  if (stamp_of(from.folder) != before) {
    return fail(error_code::model_unreadable, from.folder.string(),
                "another checkpoint took the place of this one while it was read", "load it again");
  }
  return outcome.map([&] { return std::move(made); });
}

expected<loaded_checkpoint> load_states(const tag_folder& from) {
  const fs::path file = from.folder / states_name;
  std::error_code problem;
  loaded_checkpoint made;
  if (fs::exists(file, problem)) {
    const file_sums sums = TROUPE_TRY(file_sums::read(from.folder));
    TROUPE_TRY(sums.check(file));
    made = TROUPE_TRY(read_client_state(file));
  }
  made.tag = from.tag;
  return made;
}

expected<state_dict> by_model_names(const tag_folder& from, std::vector<layer_state> layers,
                                    const std::vector<layer_names>& model) {
  state_dict made;
  for (layer_state& each : layers) {
    if (each.layer >= model.size()) {
      return fail(error_code::weights_do_not_fit, from.folder.string(),
                  "the checkpoint has a layer " + std::to_string(each.layer) +
                      " (layers count from 0), and the model has " + std::to_string(model.size()) + " layers",
                  "give the checkpoint of this model: `troupe inspect` shows its layers");
    }
    const layer_names& layer = model[each.layer];
    const auto names = names_by_key(layer);
    for (named_tensor& one : each.weights) {
      const auto found = names.find(one.name);
      made.push_back({found == names.end() ? layer.title + ": " + one.name : found->second, std::move(one.tensor)});
    }
  }
  return made;
}

std::vector<state_dict> split_by_layer(const std::vector<layer_names>& model, const state_dict& state) {
  std::unordered_map<std::string_view, const at::Tensor*> by_name;
  for (const named_tensor& each : state) by_name.emplace(each.name, &each.tensor);
  std::vector<state_dict> made;
  for (const layer_names& layer : model) {
    state_dict one;
    for (const layer_weight_name& each : layer.weights) one.push_back({each.key, *by_name.at(each.name)});
    made.push_back(std::move(one));
  }
  return made;
}

expected<state_dict> fitted_state(const graph_weights& model, const std::vector<layer_names>& layers,
                                  const state_dict& given, bool strict, const std::string& where) {
  return fitting(model, layers).fit(given, strict, where);
}

operator_graph with_values(const operator_graph& model, const state_dict& fitted) {
  std::unordered_map<std::string_view, const at::Tensor*> by_name;
  for (const named_tensor& each : fitted) by_name.emplace(each.name, &each.tensor);
  return replace_weights(model, [&](const graph_weight& weight) { return *by_name.at(weight.name); });
}

expected<operator_graph> with_checkpoint(const operator_graph& model, const model_with_weights& what,
                                         const file_locator& locate) {
  const auto layers = weights_by_layer(model);
  const auto from = TROUPE_TRY(open_tag(what.weights, what.tag, locate));
  const auto given = TROUPE_TRY(by_model_names(from, TROUPE_TRY(load_layers(from, locate)), layers));
  const auto fitted = TROUPE_TRY(fitted_state(model.weights, layers, given, !what.not_strict, from.folder.string()));
  return with_values(model, fitted);
}

std::vector<fs::path> files_of_checkpoint(const fs::path& dir, const std::string& tag, const file_locator& locate) {
  std::vector<fs::path> files;
  std::error_code problem;
  const fs::path latest = dir / latest_name;
  if (fs::exists(locate ? locate(latest) : latest, problem)) files.push_back(latest);
  const auto found = open_tag(dir, tag, locate);
  if (!found) return files;
  for (const auto& [layer, file] : found->layers) files.push_back(file);
  return files;
}

}  // namespace troupe
