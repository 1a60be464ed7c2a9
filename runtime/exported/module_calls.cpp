#include "runtime/exported/module_calls.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "runtime/graph/module_scope.hpp"

namespace troupe {
namespace {

/// No model is nested so deep; more calls than these are left out.
constexpr std::size_t calls_max = 64;

struct stack_entry {
  std::string text;
  module_call call;
};

/// "L__self__encoder,encoder,transformers...BertEncoder". Nothing where it does not have the three parts.
std::optional<stack_entry> entry_of(std::string_view text) {
  const std::size_t first = text.find(',');
  const std::size_t last = text.rfind(',');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  const std::string_view path = text.substr(first + 1, last - first - 1);
  const std::string_view type = text.substr(text.find_last_of(",.") + 1);
  const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  const bool is_name = !type.empty() && std::ranges::none_of(type, is_blank) && std::ranges::none_of(path, is_blank);
  // What torch writes where an operator of its own has no module.
  if (!is_name || text.starts_with("_empty_nn_module_stack")) return std::nullopt;
  return stack_entry{.text = std::string(text), .call = {.path = std::string(path), .type = std::string(type)}};
}

std::vector<stack_entry> entries_of(std::string_view stack) {
  std::vector<stack_entry> entries;
  while (!stack.empty() && entries.size() < calls_max) {
    const std::size_t end = std::min(stack.find(';'), stack.size());
    if (auto entry = entry_of(stack.substr(0, end))) entries.push_back(std::move(*entry));
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  return entries;
}

struct python_frame {
  std::string_view file;
  std::size_t line = 0;
  std::string_view code = {};
};

/// "File \"model.py\", line 12, in forward", without the blanks in front.
std::optional<python_frame> frame_of(std::string_view line) {
  constexpr std::string_view head = "File \"";
  constexpr std::string_view middle = "\", line ";
  if (!line.starts_with(head)) return std::nullopt;
  const std::size_t end = line.find(middle);
  if (end == std::string_view::npos) return std::nullopt;
  python_frame frame{.file = line.substr(head.size(), end - head.size())};
  const std::string_view number = line.substr(end + middle.size());
  if (std::from_chars(number.data(), number.data() + number.size(), frame.line).ec != std::errc()) return std::nullopt;
  return frame;
}

/// How near to the user a file is.
int nearness(std::string_view file) {
  if (file.starts_with("<")) return 0;
  const bool is_installed = file.find("site-packages/") != file.npos || file.find("dist-packages/") != file.npos;
  if (file.starts_with("torch/") || file.find("-packages/torch/") != file.npos) return 1;
  return is_installed ? 2 : 3;
}

std::optional<python_frame> nearest_frame(std::string_view trace) {
  std::optional<python_frame> nearest;
  bool is_code_next = false;
  while (!trace.empty()) {
    const std::size_t end = std::min(trace.find('\n'), trace.size());
    std::string_view line = trace.substr(0, end);
    trace.remove_prefix(std::min(end + 1, trace.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const auto frame = frame_of(line);
    if (!frame && is_code_next) nearest->code = line;
    is_code_next = frame && (!nearest || nearness(frame->file) >= nearness(nearest->file));
    if (is_code_next) nearest = frame;
  }
  return nearest;
}

}  // namespace

module_calls::module_calls(const torch::jit::ScopePtr& blank, const std::string& root)
    : root_(scope_inside(blank, {.path = "", .type = root})) {}

torch::jit::ScopePtr module_calls::enter(const std::string& stack) {
  std::vector<stack_entry> entries = entries_of(stack);
  if (!entries.empty()) {
    std::erase_if(entries, [](const stack_entry& each) { return each.call.path.empty(); });
    std::size_t shared = 0;
    while (shared < std::min(entries.size(), open_.size()) && entries[shared].text == open_[shared].first) ++shared;
    open_.resize(shared);
    for (std::size_t i = shared; i < entries.size(); ++i) {
      const torch::jit::ScopePtr& around = open_.empty() ? root_ : open_.back().second;
      torch::jit::ScopePtr scope = scope_inside(around, entries[i].call);
      open_.emplace_back(std::move(entries[i].text), std::move(scope));
    }
  }
  return open_.empty() ? root_ : open_.back().second;
}

std::string root_class(const std::string& stack) {
  const auto entries = entries_of(stack);
  return entries.empty() || !entries.front().call.path.empty() ? std::string() : entries.front().call.type;
}

torch::jit::SourceRange python_lines::range_of(const std::string& stack_trace) {
  const auto frame = nearest_frame(stack_trace);
  if (!frame) return {};
  auto& source = known_[{std::string(frame->file), frame->line}];
  if (!source) {
    source =
        std::make_shared<torch::jit::Source>(std::string(frame->code) + '\n', std::string(frame->file), frame->line);
  }
  return {source, 0, frame->code.size()};
}

}  // namespace troupe
