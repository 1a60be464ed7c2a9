#include "runtime/architecture/weight_reader.hpp"

#include <algorithm>
#include <map>

#include <ATen/ops/empty.h>

#include "runtime/weights/name_prefixes.hpp"

namespace troupe {
namespace {

c10::ScalarType most_common_floating_type(const state_dict& tensors) {
  std::map<c10::ScalarType, std::int64_t> counts;
  for (const named_tensor& each : tensors) {
    if (each.tensor.is_floating_point()) counts[each.tensor.scalar_type()] += each.tensor.numel();
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
  return most == counts.end() ? c10::kFloat : most->first;
}

/// A configuration may have sizes that no tensor can have.
at::Tensor without_memory(at::IntArrayRef sizes, c10::ScalarType type) {
  double numbers = 1;
  for (const std::int64_t each : sizes) numbers *= static_cast<double>(each);
  return at::empty(numbers < 0x1p56 ? sizes : at::IntArrayRef(0), at::TensorOptions(type).device(c10::kMeta));
}

std::string text_of(at::IntArrayRef sizes) {
  std::string text = "[";
  for (const std::int64_t each : sizes) text += (text.size() == 1 ? "" : ", ") + std::to_string(each);
  return text + "]";
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
  return text;
}

}  // namespace

weight_reader::weight_reader(std::string file, const state_dict& from)
    : file_(std::move(file)), floating_(most_common_floating_type(from)) {
  for (const named_tensor& each : from) {
    order_.push_back(each.name);
    from_.emplace(each.name, each.tensor);
  }
}

void weight_reader::set_base(const std::string& prefix) {
  const auto has_prefix = [&](const std::string& name) { return name.starts_with(prefix); };
  if (std::ranges::none_of(order_, has_prefix)) taken_off_ = prefix;
}

void weight_reader::set_whole(const std::string& prefix) {
  const auto has_prefix = [&](const std::string& name) { return name.starts_with(prefix); };
  if (std::ranges::any_of(order_, has_prefix)) put_on_ = prefix;
}

void weight_reader::rename_ends(const std::string& from, const std::string& to) {
  for (std::string& name : order_) {
    if (!name.ends_with(from)) continue;
    const std::string renamed = name.substr(0, name.size() - from.size()) + to;
    const auto moved = from_.find(name);
    if (moved == from_.end() || !from_.emplace(renamed, moved->second).second) continue;
    from_.erase(moved);
    name = renamed;
  }
}

std::string weight_reader::in_file(const std::string& name) const {
  return put_on_ + (name.starts_with(taken_off_) ? name.substr(taken_off_.size()) : name);
}

const at::Tensor* weight_reader::find(const std::string& name) const {
  const auto found = from_.find(in_file(name));
  return found == from_.end() ? nullptr : &found->second;
}

at::Tensor weight_reader::take(const std::string& name, at::IntArrayRef sizes) {
  const auto known = taken_.find(in_file(name));
  if (known != taken_.end() && known->second.sizes() == sizes) return known->second;
  const at::Tensor* const found = find(name);
  at::Tensor taken;
  if (found != nullptr && found->sizes() == sizes) {
    taken = found->is_floating_point() ? found->to(floating_) : *found;
  } else {
    taken = without_memory(sizes, floating_);
    if (found == nullptr) {
      missing_names_.push_back(in_file(name));
      missing_.push_back(in_file(name) + " " + text_of(sizes));
    } else {
      other_sizes_.push_back(in_file(name) + " has " + text_of(found->sizes()) + " and not " + text_of(sizes));
    }
  }
  taken_.insert_or_assign(in_file(name), taken);
  return taken;
}

std::optional<std::vector<std::int64_t>> weight_reader::sizes_of(const std::string& name) const {
  const at::Tensor* const found = find(name);
  return found == nullptr ? std::nullopt : std::optional(found->sizes().vec());
}

std::vector<std::string> weight_reader::unexpected() const {
  std::vector<std::string> names;
  for (const std::string& name : order_) {
    if (!left_out_.has(name) && !taken_.contains(name)) names.push_back(name);
  }
  return names;
}

expected<void> weight_reader::finish(bool strict) const {
  const std::vector<std::string> extra = strict ? unexpected() : std::vector<std::string>();
  std::vector<std::string> findings;
  const auto add = [&](const std::string& what, const std::vector<std::string>& names) {
    if (!names.empty()) findings.push_back(std::to_string(names.size()) + " " + what + ": " + joined(names));
  };
  add("missing", missing_);
  add("of other sizes", other_sizes_);
  add("unexpected", extra);
  if (findings.empty()) return {};
  std::string cause = "the weights do not fit the architecture";
  for (const std::string& each : findings) cause += "; " + each;
  const bool is_only_extra = missing_.empty() && other_sizes_.empty();
  if (const auto prefix = find_other_prefix(missing_names_, order_)) {
    return fail(error_code::weights_do_not_fit, file_, cause, fix_of_prefix(*prefix));
  }
  return fail(error_code::weights_do_not_fit, file_, cause,
              is_only_extra ? "add --not-strict if the model needs none of them"
                            : "give the architecture (--arch, or config.json) that these weights were trained in");
}

}  // namespace troupe
