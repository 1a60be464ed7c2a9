#include "runtime/launcher/forwarded_variables.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/launch/launch_environment.hpp"
#include "runtime/launch/launch_text.hpp"
#include "runtime/os/input_file.hpp"
#include "runtime/process/error_line.hpp"
#include "runtime/process/probe_environment.hpp"
#include "runtime/process/worker_environment.hpp"

namespace troupe {
namespace {

constexpr std::array<std::string_view, 4> prefixes = {"TROUPE_", "OMP_", "MKL_", "NCCL_"};
constexpr std::string_view variables_fix = "write one variable per line, for example: OMP_NUM_THREADS=4";

bool is_own_variable(std::string_view name) {
  return name == launch_variable || name == worker_variable || name == probe_variable || name == error_line_variable;
}

bool is_name_start(char c) {
  return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool is_name_part(char c) {
  return is_name_start(c) || (c >= '0' && c <= '9');
}

/// The first byte that a name may not have there; its size if there is none.
std::size_t fault_in_name(std::string_view name) {
  if (name.empty() || !is_name_start(name.front())) return 0;
  return static_cast<std::size_t>(std::ranges::find_if_not(name, is_name_part) - name.begin());
}

class variables_reader {
 public:
  explicit variables_reader(std::string_view file) : file_(file) {}

  expected<void> read_line(std::string_view line) {
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool is_blank = line.find_first_not_of(" \t") == std::string_view::npos;
    if (is_blank || line.front() == '#') return {};
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::string_view name = line.substr(0, equals);
    if (const std::size_t fault = fault_in_name(name); name.empty() || fault < name.size())
      return bad(error_code::config_syntax, fault, "no variable has this name", variables_fix);
    if (equals == line.size()) return bad(error_code::config_syntax, equals, "'=' is missing", variables_fix);
    const std::string_view value = line.substr(equals + 1);
    if (const std::size_t zero = value.find('\0'); zero != std::string_view::npos)
      return bad(error_code::config_syntax, equals + 1 + zero, "a zero byte is in the value", variables_fix);
    return add(name, value);
  }

  variable_map take() && { return std::move(variables_); }

 private:
  [[nodiscard]] tl::unexpected<error> bad(error_code code, std::size_t at, std::string cause,
                                          std::string_view fix) const {
    return fail(code, fmt::format("{}:{}:{}", file_, line_, at + 1), std::move(cause), std::string(fix));
  }

  expected<void> add(std::string_view name, std::string_view value) {
    if (is_own_variable(name))
      return bad(error_code::config_bad_value, 0, fmt::format("{} is Troupe's own", name), "leave it out");
    const auto [known, is_new] = lines_.emplace(name, line_);
    if (!is_new) {
      return bad(error_code::config_bad_value, 0,
                 fmt::format("{} stands in line {} already", quote_text(name), known->second), "leave one out");
    }
    variables_.emplace(name, value);
    return {};
  }

  std::string_view file_;
  std::size_t line_ = 0;
  variable_map variables_;
  std::map<std::string, std::size_t, std::less<>> lines_;
};

tl::unexpected<error> unreadable_variables(const std::string& path, std::string cause) {
  return fail(error_code::config_missing, path, std::move(cause), "let it be readable, or remove it");
}

void replace_all(variable_map& into, variable_map&& with) {
  for (auto& [name, value] : with) into.insert_or_assign(name, std::move(value));
}

/// Home and working directory may be one.
expected<void> add_files(variable_map& into, const std::string& home, const std::string& directory) {
  std::error_code unknown;
  const bool is_one = home.empty() || std::filesystem::equivalent(home, directory, unknown);
  for (const std::string& place : {is_one ? std::string() : home, directory}) {
    if (place.empty()) continue;
    auto read = TROUPE_TRY(read_variables((std::filesystem::path(place) / variables_file).string()));
    replace_all(into, std::move(read));
  }
  return {};
}

}  // namespace

bool is_variable_name(std::string_view name) noexcept {
  return !name.empty() && fault_in_name(name) == name.size();
}

bool is_forwarded(std::string_view name) noexcept {
  return is_variable_name(name) && !is_own_variable(name) &&
         std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

expected<variable_map> parse_variables(std::string_view text, std::string_view file) {
  if (text.size() > limits::launch_variables_bytes_max) {
    return fail(error_code::config_syntax, std::string(file),
                fmt::format("is longer than {} bytes", limits::launch_variables_bytes_max), std::string(variables_fix));
  }
  variables_reader reader(file);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    TROUPE_TRY(reader.read_line(text.substr(at, end - at)));
    at = end + 1;
  }
  return std::move(reader).take();
}

expected<variable_map> read_variables(const std::string& path) {
  const auto text = read_small_input(path, limits::launch_variables_bytes_max);
  if (!text && text.error().number == ENOENT) return variable_map{};
  return text ? parse_variables(*text, path) : unreadable_variables(path, text.error().cause);
}

expected<std::pair<std::string, std::string>> read_variable_flag(std::string_view text,
                                                                 const environment_lookup& lookup) {
  const auto bad = [&](std::string cause) {
    return fail(error_code::value_out_of_range, "--env", quote_text(text) + ": " + std::move(cause),
                "write --env NAME=VALUE, or --env NAME for a variable that is set here");
  };
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (!is_variable_name(name)) return bad("no variable has this name");
  if (is_own_variable(name)) return bad("it is Troupe's own");
  if (equals != std::string_view::npos) return std::pair(std::string(name), std::string(text.substr(equals + 1)));
  auto value = lookup(name);
  if (!value) return bad("it is not set here");
  return std::pair(std::string(name), std::move(*value));
}

expected<variable_map> collect_variables(std::span<const std::string> own, const std::string& home,
                                         const std::string& directory, std::span<const std::string> flags) {
  variable_map all;
  variable_map known;
  for (const std::string& entry : own) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) known.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  std::ranges::copy_if(known, std::inserter(all, all.end()), [](const auto& each) { return is_forwarded(each.first); });
  TROUPE_TRY(add_files(all, home, directory));
  const environment_lookup lookup = [&](std::string_view name) -> std::optional<std::string> {
    const auto found = known.find(name);
    return found == known.end() ? std::nullopt : std::optional(found->second);
  };
  for (const std::string& flag : flags) {
    auto read = TROUPE_TRY(read_variable_flag(flag, lookup));
    all.insert_or_assign(read.first, std::move(read.second));
  }
  if (all.size() > limits::launch_variables_max) {
    return fail(error_code::value_out_of_range, "environment",
                fmt::format("{} variables are forwarded, {} may be", all.size(), limits::launch_variables_max),
                "forward fewer");
  }
  return all;
}

}  // namespace troupe
