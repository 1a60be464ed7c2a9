#include "runtime/process/exec_image.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <unistd.h>

#include "messages/limits.hpp"

namespace troupe {
namespace {

bool is_text(const std::string& text) {
  return text.find('\0') == std::string::npos;
}

bool is_variable(const std::pair<std::string, std::string>& variable) {
  return !variable.first.empty() && variable.first.find('=') == std::string::npos && is_text(variable.first) &&
         is_text(variable.second);
}

/// The problem with the request; empty if there is none.
std::string objection(const spawn_request& request) {
  if (request.program.empty() || !is_text(request.program)) return "the program's path is empty or has a zero byte";
  if (!std::ranges::all_of(request.arguments, is_text)) return "an argument has a zero byte";
  if (!std::ranges::all_of(request.environment, is_variable)) return "a variable of the environment has a bad name";
  std::set<int> numbers;
  for (const inherited_fd& inherited : request.fds) {
    if (!inherited.fd) return "there is no descriptor to inherit as " + std::to_string(inherited.number);
    if (inherited.number <= STDERR_FILENO || inherited.number > limits::worker_inherited_fd_max ||
        !numbers.insert(inherited.number).second) {
      return "descriptor " + std::to_string(inherited.number) + " cannot be inherited: from 3 to " +
             std::to_string(limits::worker_inherited_fd_max) + ", and each number once";
    }
  }
  return {};
}

bool is_replaced(std::string_view entry, const spawn_request& request) {
  const std::string_view name = entry.substr(0, entry.find('='));
  return std::ranges::any_of(request.environment, [&](const auto& variable) { return variable.first == name; });
}

}  // namespace

expected<exec_image> exec_image::make(const spawn_request& request) {
  if (std::string bad = objection(request); !bad.empty()) {
    return fail(error_code::process_failed, request.name, std::move(bad));
  }
  exec_image made;
  const auto keep = [&](std::string_view text) {
    std::vector<char>& kept = made.texts_.emplace_back(text.begin(), text.end());
    kept.push_back('\0');
    return kept.data();
  };
  char* program = keep(request.program);
  for (const std::string& argument : request.arguments) made.arguments_.push_back(keep(argument));
  if (made.arguments_.empty()) made.arguments_.push_back(program);
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!is_replaced(*entry, request)) made.environment_.push_back(keep(*entry));
  }
  for (const auto& [name, value] : request.environment) {
    std::string entry = name;
    made.environment_.push_back(keep(entry.append("=").append(value)));
  }
  made.arguments_.push_back(nullptr);
  made.environment_.push_back(nullptr);
  return made;
}

}  // namespace troupe
