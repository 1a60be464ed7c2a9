#include <array>

#include "runtime/data/kinds.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

struct kind_entry {
  const char* name;
  const char* form;
  expected<data_set_ptr> (*open)(const std::string&);
};

constexpr std::array<kind_entry, 3> kinds = {{
    {"mnist", "mnist:DIR", open_mnist},
    {"cifar10", "cifar10:FILE_OR_DIR", open_cifar10},
    {"npy", "npy:INPUTS,LABELS", open_npy},
}};

constexpr const char* all_forms = "mnist:DIR, cifar10:FILE_OR_DIR or npy:INPUTS,LABELS";

tl::unexpected<error> unknown_kind(const std::string& specification, const std::string& name) {
  std::vector<std::string> known;
  for (const kind_entry& kind : kinds) known.emplace_back(kind.name);
  return fail(error_code::unknown_name, specification, "unknown kind of data \"" + name + "\", expected " + all_forms,
              suggest_fix(name, known));
}

}  // namespace

expected<data_set_ptr> open_data(const std::string& specification) {
  const std::size_t colon = specification.find(':');
  if (colon == std::string::npos) {
    return fail(error_code::value_out_of_range, specification.empty() ? "data" : specification,
                std::string("names no kind of data, expected ") + all_forms,
                "put the kind before the path, as in mnist:data/mnist");
  }
  const std::string name = specification.substr(0, colon);
  const std::string rest = specification.substr(colon + 1);
  for (const kind_entry& kind : kinds) {
    if (name != kind.name) continue;
    if (rest.empty()) {
      return fail(error_code::value_out_of_range, specification, std::string("names no path, expected ") + kind.form,
                  "put the path after the colon");
    }
    return kind.open(rest);
  }
  return unknown_kind(specification, name);
}

}  // namespace troupe
