#include "runtime/exported/value_names.hpp"

#include "messages/try.hpp"

namespace troupe {

expected<void> value_names::give(const json_part& name, torch::jit::Value* value) {
  const std::string text = TROUPE_TRY(name.text());
  if (!values_.emplace(text, value).second) return name.wrong("makes the value " + text + " a second time");
  name_value(*value, text);
  return {};
}

expected<torch::jit::Value*> value_names::find(const json_part& name) const {
  const std::string text = TROUPE_TRY(name.text());
  const auto found = values_.find(text);
  if (found == values_.end()) return name.wrong("names the value " + text + " before it is made");
  return found->second;
}

void name_value(torch::jit::Value& value, const std::string& name) {
  if (name.find_first_not_of("0123456789") != std::string::npos) value.setDebugName(name);
}

}  // namespace troupe
