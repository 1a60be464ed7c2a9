#include "option_flags.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "output.hpp"
#include "runtime/config/value.hpp"
#include <troupe/program.hpp>

namespace troupe::cli {
namespace {

/// The default as one would write it on the command line; empty where there is none to mention.
std::string default_text(const option& described) {
  const option_value value = default_value(described);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* names = std::get_if<std::vector<std::string>>(&value))
    return fmt::format("{}", fmt::join(*names, ","));
  if (const auto* count = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *count);
  return described.kind == option_kind::count_or_auto ? "auto" : "";
}

std::string help_of(const option& described) {
  const std::string value = default_text(described);
  return value.empty() ? std::string(described.help) : fmt::format("{} [{}]", described.help, value);
}

}  // namespace

option_flags::option_flags(parser& into) : parser_(into) {
  for (const option& each : all_options()) add(each);
  data_.emplace(into);
  into.add_text("--config", config_path_,
                "TOML file, with these flags as keys (underscores); FILE.json: one of DeepSpeed", "FILE");
}

option_flags::option_flags(parser& into, std::span<const std::string_view> taken) : parser_(into) {
  for (const option& each : all_options()) {
    if (std::ranges::find(taken, each.name) != taken.end()) {
      add(each);
      if (each.name == "data") data_.emplace(into);
    } else {
      into.leave_to_eval(flag_name(each));
    }
  }
  into.add_text("--config", config_path_, "TOML file, or one of DeepSpeed, as of troupe eval", "FILE");
}

void option_flags::add(const option& described) {
  flag& added = flags_[std::string(described.name)];
  added.name = flag_name(described);
  if (described.kind == option_kind::toggle) {
    parser_.add_toggle(added.name, added.text, help_of(described));
  } else if (described.kind == option_kind::faults) {
    parser_.add_texts(added.name, added.texts, help_of(described), std::string(described.value_name));
  } else {
    parser_.add_text(added.name, added.text, help_of(described), std::string(described.value_name));
  }
}

expected<resolved_options> option_flags::resolve() const {
  option_sources sources;
  sources.environment = troupe_environment();
  if (parser_.is_given("--config")) sources.config_path = config_path_;
  for (const option& each : all_options()) {
    if (const auto text = given(each.name)) sources.flags.emplace_back(each.name, *text);
  }
  if (data_) sources.data_flags = data_->given();
  auto resolved = resolve_options(sources);
  const bool is_copy = program::worker() != nullptr || program::is_probe();  // the driver has said it
  if (resolved && !is_copy) {
    for (const std::string& warning : resolved->warnings) say_warning(warning);
  }
  return resolved;
}

std::optional<std::string> option_flags::given(std::string_view name) const {
  const auto found = flags_.find(name);
  if (found == flags_.end() || !parser_.is_given(found->second.name)) return std::nullopt;
  const auto& [flag_text, text, texts] = found->second;
  return texts.empty() ? text : fmt::format("{}", fmt::join(texts, std::string(1, fault_separator)));
}

}  // namespace troupe::cli
