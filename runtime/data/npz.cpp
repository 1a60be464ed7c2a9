#include "messages/try.hpp"
#include "runtime/data/array_set.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/npz_archive.hpp"

namespace troupe {

namespace {

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

expected<data_set_ptr> open_npz(const data_request& request) {
  const std::string& path = request.path();
  array_files from{.specification = request.specification, .files = {path}};
  from.options = TROUPE_TRY(read_array_options(request));
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
