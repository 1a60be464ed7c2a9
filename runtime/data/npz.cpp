#include "messages/try.hpp"
#include "runtime/data/array_set.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/npz_archive.hpp"

namespace troupe {

namespace {

constexpr const char* form = "npz:FILE[,label=NAME][,inputs=A+B][,trim=MASK][,DTYPE][,ignore=LABEL]";

/// Names of inputs are those of a model's arguments.
expected<void> check_names(const npz_archive& archive, const array_roles& roles, const std::string& path) {
  for (const std::vector<std::string>* role : {&roles.inputs, &roles.labels}) {
    for (const std::string& name : *role) {
      if (is_array_name(name) && archive.is_array(name)) continue;
      return fail(error_code::data_bad_format, path,
                  "its entry \"" + name + "\" is no array with a name of letters, digits, underscores and inner dots",
                  "choose the arrays that the model takes, npz:" + path + ",inputs=A+B, or save them with such names");
    }
  }
  if (roles.inputs.size() + roles.labels.size() <= data_arrays_max) return {};
  return fail(error_code::value_out_of_range, path,
              "there are " + std::to_string(roles.inputs.size() + roles.labels.size()) + " arrays",
              "choose at most " + std::to_string(data_arrays_max) + " with inputs=A+B and label=NAME");
}

}  // namespace

expected<data_set_ptr> open_npz(const std::string& text) {
  const std::vector<std::string> parts = parts_between(',', text);
  const std::string& path = parts.front();
  array_files from{.specification = "npz:" + text, .files = {path}};
  if (path.empty()) {
    return fail(error_code::value_out_of_range, from.specification, std::string("expected a path, ") + form,
                "put the path behind the colon");
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    TROUPE_TRY(read_array_option(from.specification, form, parts[i], true, from.options));
  }
  auto archive = TROUPE_TRY(npz_archive::open(path));
  const auto roles = TROUPE_TRY(choose_arrays(archive.names(), from.options, path, error_code::data_missing));
  TROUPE_TRY(check_names(archive, roles, path));
  TROUPE_TRY(open_arrays(
      roles, [&](const std::string& name) { return archive.read(name); }, from));
  from.reading = choice_text(from.options);
  from.name = "npz:" + path + from.reading;
  return make_array_set(std::move(from));
}

}  // namespace troupe
