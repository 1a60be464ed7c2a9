#include "runtime/model/libtorch_error.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include <c10/util/Exception.h>

namespace troupe {
namespace {

constexpr int lines_max = 3;
constexpr std::size_t bytes_max = 600;
constexpr const char* cast_fix =
    "cast the inputs to the type of the weights: npy:INPUTS,LABELS,float32, or cast_inputs() in code";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

/// The interpreter puts tracebacks first and "SomeError: message" after them.
std::string_view without_tracebacks(std::string_view text) {
  if (text.find("Traceback of TorchScript") == std::string_view::npos) return text;
  const std::size_t at = text.rfind("Error: ");
  return at == std::string_view::npos ? text : text.substr(at + 7);
}

/// "expected scalar type Float but found Double", "Input type (torch.DoubleTensor) and weight type ..."
bool names_two_floating_types(std::string_view text) {
  constexpr std::array<std::string_view, 4> names = {"float", "double", "half", "bfloat16"};
  constexpr std::string_view suffix = "tensor";
  std::set<std::string> found;
  std::string word;
  for (const char c : std::string(text) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (word.ends_with(suffix)) word.resize(word.size() - suffix.size());
    if (std::ranges::find(names, word) != names.end()) found.insert(word);
    word.clear();
  }
  return found.size() > 1 && text.find("type") != std::string_view::npos;
}

}  // namespace

std::string libtorch_message(const std::exception& caught) {
  const auto* own = dynamic_cast<const c10::Error*>(&caught);
  std::string_view rest = own != nullptr ? own->what_without_backtrace() : caught.what();
  rest = rest.substr(0, rest.find("\nException raised from"));
  rest = trimmed(without_tracebacks(rest));
  std::string message;
  for (int line = 0; line < lines_max && !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (line > 0) message += "; ";
    message += trimmed(rest.substr(0, end));
    rest = trimmed(rest.substr(end));
  }
  if (message.size() > bytes_max) message = message.substr(0, bytes_max) + "...";
  return message.empty() ? "LibTorch gave no reason" : message;
}

std::string libtorch_fix(const std::exception& caught, std::string otherwise) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&caught) != nullptr)
    return "use smaller micro-batches, or more stages on more devices";
  if (names_two_floating_types(libtorch_message(caught))) return cast_fix;
  return otherwise;
}

}  // namespace troupe
