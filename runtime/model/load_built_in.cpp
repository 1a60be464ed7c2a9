#include "messages/try.hpp"
#include "runtime/architecture/read_built_in.hpp"
#include <troupe/model.hpp>

namespace troupe {

expected<model> load_model(const built_in_model& what, const file_locator& locate) {
  auto made = TROUPE_TRY(read_built_in(what, locate));
  return model(std::make_shared<const operator_graph>(std::move(made)));
}

}  // namespace troupe
