#include <algorithm>

#include "runtime/data/data_kinds.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

std::string form_of(const data_kind& kind) {
  return std::string(kind.name) + ":" + std::string(kind.path);
}

tl::unexpected<error> unknown_kind(const std::string& specification, const std::string& name) {
  return fail(error_code::unknown_name, specification,
              "unknown kind of data \"" + name + "\", expected one of " + data_forms(),
              suggest_fix(name, data_kind_names()));
}

}  // namespace

std::string data_forms() {
  std::string forms;
  for (const data_kind& kind : data_kinds) forms += (forms.empty() ? "" : ", ") + form_of(kind);
  return forms;
}

std::vector<std::string> data_kind_names() {
  std::vector<std::string> names;
  names.reserve(data_kinds.size());
  for (const data_kind& kind : data_kinds) names.emplace_back(kind.name);
  return names;
}

expected<data_set_ptr> open_data(const std::string& specification) {
  const std::size_t colon = specification.find(':');
  if (colon == std::string::npos) {
    return fail(error_code::value_out_of_range, specification.empty() ? "data" : specification,
                "names no kind of data, expected one of " + data_forms(),
                "put the kind before the path, as in mnist:data/mnist");
  }
  const std::string name = specification.substr(0, colon);
  const std::string path = specification.substr(colon + 1);
  const auto* kind = std::ranges::find(data_kinds, std::string_view(name), &data_kind::name);
  if (kind == data_kinds.end()) return unknown_kind(specification, name);
  if (!path.empty()) return kind->open(path);
  return fail(error_code::value_out_of_range, specification, "names no path, expected " + form_of(*kind),
              "put the path after the colon");
}

}  // namespace troupe
