#include <algorithm>
#include <optional>

#include "messages/try.hpp"
#include "runtime/data/array_set.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

constexpr const char* pair_form = "npy:INPUTS,LABELS[,DTYPE][,ignore=LABEL]";
constexpr const char* named_form = "npy:NAME=FILE,...,labels=FILE[,label=NAME][,trim=MASK][,DTYPE][,ignore=LABEL]";

tl::unexpected<error> bad_path(const std::string& specification, std::string cause, std::string fix) {
  return fail(error_code::value_out_of_range, specification, std::move(cause), std::move(fix));
}

/// Neither an option nor a path in this place.
tl::unexpected<error> strange_part(const std::string& specification, const std::string& part) {
  const std::size_t sign = part.find('=');
  if (sign != std::string::npos) {
    std::vector<std::string> known;
    known.reserve(npy_options.size());
    for (const data_option& each : npy_options) known.emplace_back(each.name);
    return fail(error_code::unknown_name, specification, "npy has no option \"" + part.substr(0, sign) + "\"",
                suggest_fix(part.substr(0, sign), known));
  }
  return bad_path(
      specification,
      std::string("expected ") + pair_form + ", or " + named_form + ", and there is no type \"" + part + "\"",
      suggest_fix(part, std::vector<std::string>(cast_name_list.begin(), cast_name_list.end())));
}

/// NAME=FILE.
struct named_path {
  std::string name;
  std::string path;
};

/// Nothing for other text.
std::optional<named_path> as_named_path(const std::string& part) {
  const std::size_t sign = part.find('=');
  if (sign == std::string::npos) return std::nullopt;
  named_path found{part.substr(0, sign), part.substr(sign + 1)};
  if (!is_array_name(found.name)) return std::nullopt;
  return found;
}

/// Two paths without names.
expected<array_files> open_pair(const data_request& request) {
  const std::string& specification = request.specification;
  const std::vector<std::string>& parts = request.paths;
  if (parts.size() == 3 && !parts[2].empty()) return strange_part(specification, parts[2]);
  if (parts.size() != 2 || std::ranges::any_of(parts, &std::string::empty)) {
    return bad_path(specification,
                    std::string("expected two paths with one comma between, and perhaps options behind more commas, ") +
                        pair_form + ", or " + named_form,
                    "give both paths, and put a path that has a comma in double quotes");
  }
  array_files from{.specification = specification};
  from.options = TROUPE_TRY(read_array_options(request));
  if (!from.options.labels.empty() || !from.options.trim.empty()) {
    return bad_path(specification, "label= and trim= choose an array by its name, and these files have none",
                    std::string("leave it out, or name the files, ") + named_form);
  }
  auto inputs = TROUPE_TRY(npy_array::open(parts[0]));
  auto labels = TROUPE_TRY(npy_array::open(parts[1]));
  from.inputs.push_back({"", std::move(inputs)});
  from.labels.push_back({"", std::move(labels)});
  from.name = "npy:" + parts[0] + "," + parts[1];
  from.files = {parts[0], parts[1]};
  return from;
}

expected<std::vector<named_path>> named_paths(const std::string& specification, const std::vector<std::string>& parts) {
  std::vector<named_path> paths;
  for (const std::string& part : parts) {
    std::optional<named_path> found = as_named_path(part);
    if (!found) return strange_part(specification, part);
    if (found->path.empty()) return bad_path(specification, "there is no path behind " + part, "put it there");
    if (std::ranges::find(paths, found->name, &named_path::name) != paths.end()) {
      return bad_path(specification, "names \"" + found->name + "\" twice", "give each array a name of its own");
    }
    paths.push_back(std::move(*found));
  }
  if (paths.size() > data_arrays_max) {
    return bad_path(specification, "names " + std::to_string(paths.size()) + " arrays",
                    "name at most " + std::to_string(data_arrays_max));
  }
  return paths;
}

expected<array_files> open_named(const data_request& request) {
  const std::string& specification = request.specification;
  array_files from{.specification = specification, .name = "npy:"};
  from.options = TROUPE_TRY(read_array_options(request));
  const auto paths = TROUPE_TRY(named_paths(specification, request.paths));
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const named_path& each : paths) names.push_back(each.name);
  const auto roles = TROUPE_TRY(choose_arrays(names, from.options, specification, error_code::value_out_of_range));
  for (const named_path& each : paths) {
    from.name += (from.files.empty() ? "" : ",") + each.name + "=" + each.path;
    from.reading += "," + each.name;
    from.files.push_back(each.path);
  }
  from.name += choice_text(from.options);
  from.reading += choice_text(from.options);
  const auto path_of = [&](const std::string& name) { return std::ranges::find(paths, name, &named_path::name)->path; };
  return open_arrays(
             roles, [&](const std::string& name) { return npy_array::open(path_of(name)); }, from)
      .map([&] { return std::move(from); });
}

}  // namespace

expected<data_set_ptr> open_npy(const data_request& request) {
  auto from = TROUPE_TRY(as_named_path(request.paths.front()) ? open_named(request) : open_pair(request));
  return make_array_set(std::move(from));
}

}  // namespace troupe
