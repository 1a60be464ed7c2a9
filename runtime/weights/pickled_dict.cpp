#include "runtime/weights/pickled_dict.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "messages/try.hpp"
#include "runtime/weights/name_prefixes.hpp"

namespace troupe {
namespace {

using kind = pickled::kind;
using member = pickled_member;

constexpr std::array<std::string_view, 5> wrapper_names{"state_dict", "model_state_dict", "model", "module", "net"};
constexpr int wrappers_deep_max = 4;
constexpr std::string_view extra_state = "_extra_state";

bool is_ordered_dict(const pickled_values& values, const pickled& value) {
  return value.what == kind::made && callee_text(values, value) == "collections.OrderedDict";
}

/// What Python 2 makes an OrderedDict of: OrderedDict([[key, value], ...]).
std::span<const pickled> listed_pairs(const pickled_values& values, const pickled& arguments) {
  const auto one = values.items_of(arguments);
  if (arguments.what != kind::tuple || one.size() != 1 || one.front().what != kind::list) return {};
  return values.items_of(one.front());
}

class dict_finder {
 public:
  dict_finder(weights_reading& reading, const pickled_values& values) : reading_(reading), values_(values) {}

  /// The members of the state dict.
  expected<std::vector<member>> find() {
    pickled at = values_.root;
    std::string place = "it";
    for (int deep = 0; deep < wrappers_deep_max; ++deep) {
      if (!is_dict(values_, at)) return no_dict(at, place);
      auto members = TROUPE_TRY(members_of(reading_, values_, at));
      is_lightning = is_lightning || find_member(members, "pytorch-lightning_version") != nullptr;
      const member* inner = nullptr;
      likeness best = likeness::none;
      for (const std::string_view name : wrapper_names) {
        const member* const found = find_member(members, name);
        const likeness each = found == nullptr ? likeness::none : likeness_of(found->value);
        if (each == best && each >= likeness::dict) return two_dicts(*inner, *found);
        if (each > best) inner = found;
        best = std::max(best, each);
      }
      if (inner == nullptr) return with_tensors(std::move(members), place);
      place = "its member \"" + std::string(values_.text_of(inner->key)) + "\"";
      at = inner->value;
    }
    return none("its dicts are nested more than " + std::to_string(wrappers_deep_max) + " deep");
  }

  bool is_lightning = false;

 private:
  /// How much a value looks like a state dict: `none` is a text or a tensor, `object` may be a module.
  enum class likeness : std::uint8_t { none, object, dict, with_tensors };
  [[nodiscard]] likeness likeness_of(const pickled& value) const {
    if (!is_dict(values_, value))
      return value.what == kind::made && !is_tensor(value) ? likeness::object : likeness::none;
    const bool has_tensor =
        std::ranges::any_of(values_.items_of(value), [&](const pickled& each) { return is_tensor(each); });
    return has_tensor ? likeness::with_tensors : likeness::dict;
  }
  [[nodiscard]] bool is_tensor(const pickled& value) const {
    return value.what == kind::made && callee_text(values_, value).starts_with("torch._");
  }

  [[nodiscard]] const member* find_member(const std::vector<member>& members, std::string_view name) const {
    const auto found = std::ranges::find_if(
        members, [&](const member& each) { return each.key.what == kind::text && values_.text_of(each.key) == name; });
    return found == members.end() ? nullptr : &*found;
  }

  /// A dict that may be the state dict. One without any tensor says what it has.
  expected<std::vector<member>> with_tensors(std::vector<member> members, const std::string& place) const {
    const bool has_tensor = std::ranges::any_of(members, [&](const member& each) {
      return each.value.what == kind::made && !is_ordered_dict(values_, each.value);
    });
    if (members.empty() || has_tensor) return members;
    constexpr std::size_t names_max = 8;
    std::string names;
    for (std::size_t i = 0; i < std::min(members.size(), names_max); ++i) {
      const pickled& key = members[i].key;
      names +=
          (i > 0 ? ", " : "") + (key.what == kind::text ? std::string(values_.text_of(key)) : kind_text(values_, key));
    }
    if (members.size() > names_max) names += ", ...";
    return none(place +
                " is a dict without tensors, and has none under state_dict, model_state_dict, model, module or "
                "net: it has " +
                names);
  }

  [[nodiscard]] tl::unexpected<error> two_dicts(const member& one, const member& other) const {
    const std::string first(values_.text_of(one.key));
    const std::string second(values_.text_of(other.key));
    return reading_.unsupported(
        "the file has two dicts that may be the weights: \"" + first + "\" and \"" + second + "\"",
        "save one of them alone, in Python: torch.save(torch.load(FILE)[\"" + first + "\"], \"weights.pt\")");
  }

  [[nodiscard]] tl::unexpected<error> none(const std::string& finding) const {
    return fail(error_code::model_not_torchscript, reading_.where(), "the file has no state dict: " + finding,
                weights_save_fix);
  }

  [[nodiscard]] tl::unexpected<error> no_dict(const pickled& value, const std::string& place) const {
    if (value.what != kind::made) return none(place + " is " + kind_text(values_, value));
    const std::string callee = callee_text(values_, value);
    if (callee.starts_with("torch._utils.") || callee.starts_with("torch._tensor.")) {
      return none(place + " is one tensor without a name");
    }
    if (is_module(value)) {
      return fail(error_code::model_not_torchscript, reading_.where(),
                  "the file has no state dict: " + place + " is a whole module of the class " + callee +
                      ", and reading it would run that class",
                  std::string("load it in Python, with its class, and ") + weights_save_fix);
    }
    return fail(error_code::model_has_effects, reading_.where(),
                "in place of the state dict, " + place + " is what a call of " + callee +
                    " would give, and nothing in a file is called",
                weights_save_fix);
  }

  /// Its state has what every nn.Module has.
  [[nodiscard]] bool is_module(const pickled& made) const {
    const pickled state = values_.items_of(made)[2];
    if (state.what != kind::dict) return false;
    const auto items = values_.items_of(state);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i].what == kind::text && values_.text_of(items[i]) == "_modules") return true;
    }
    return false;
  }

  weights_reading& reading_;
  const pickled_values& values_;
};

}  // namespace

bool is_dict(const pickled_values& values, const pickled& value) {
  return value.what == kind::dict || is_ordered_dict(values, value);
}

expected<std::vector<pickled_member>> members_of(weights_reading& reading, const pickled_values& values,
                                                 const pickled& dict) {
  auto items = values.items_of(dict);
  std::span<const pickled> listed;
  if (dict.what == kind::made) {
    constexpr std::size_t parts = 3;
    listed = listed_pairs(values, items[1]);
    items = items.subspan(parts);
  }
  const std::size_t count = listed.size() + items.size() / 2;
  if (!reading.take(count * sizeof(pickled_member))) {
    return reading.beyond_limits("its dicts would take more memory than a file of this size may");
  }
  std::vector<pickled_member> members;
  members.reserve(count);
  for (const pickled& each : listed) {
    const auto pair = values.items_of(each);
    const bool is_pair = (each.what == kind::list || each.what == kind::tuple) && pair.size() == 2;
    if (!is_pair) return reading.damaged("an OrderedDict is made of something else than pairs");
    members.push_back({pair[0], pair[1]});
  }
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) members.push_back({items[i], items[i + 1]});
  return members;
}

expected<state_dict> dict_in(weights_reading& reading, const pickled_values& values, const storage_finder& find) {
  dict_finder finder(reading, values);
  const auto members = TROUPE_TRY(finder.find());
  constexpr std::uint64_t tensor_bytes = 512;
  if (!reading.take(members.size() * tensor_bytes)) {
    return reading.beyond_limits("its tensors would take more memory than a file of this size may");
  }
  state_dict dict;
  dict.reserve(members.size());
  for (const auto& [key, value] : members) {
    if (key.what != kind::text) {
      return reading.unsupported("its state dict has " + kind_text(values, key) + " in place of a name",
                                 "save a dict of tensors by their names, as model.state_dict() gives it");
    }
    std::string name(values.text_of(key));
    const bool is_tensor = value.what == kind::made && callee_text(values, value).starts_with("torch._");
    if (!is_tensor && name.ends_with(extra_state)) continue;
    at::Tensor tensor = TROUPE_TRY(tensor_in(reading, values, value, name, find));
    dict.push_back({std::move(name), std::move(tensor)});
  }
  if (finder.is_lightning) take_off_prefix(dict, "model.");
  return dict;
}

}  // namespace troupe
