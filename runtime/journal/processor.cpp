#include "runtime/journal/processor.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace troupe {
namespace {

/// A virtual machine often tells no more than "AMD EPYC" as its name.
constexpr std::array model_keys = {"vendor_id", "cpu family", "model", "model name", "CPU implementer", "CPU part"};
constexpr std::array flag_keys = {"flags", "Features"};
/// Prefixes: avx512vnni, amx_bf16, asimddp, sve2 ...
constexpr std::array vector_flags = {"sse4", "avx", "amx", "fma", "f16c", "asimd", "sve", "sme2", "bf16", "i8mm"};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_one_of(std::string_view key, const auto& keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// In one order, whatever the kernel's.
std::string vector_sets(std::string_view flags) {
  std::istringstream words{std::string(flags)};
  std::vector<std::string> kept;
  for (std::string word; words >> word;) {
    if (std::any_of(vector_flags.begin(), vector_flags.end(), [&](const char* p) { return word.starts_with(p); })) {
      kept.push_back(word);
    }
  }
  std::sort(kept.begin(), kept.end());
  std::string text;
  for (const std::string& each : kept) text += (text.empty() ? "" : " ") + each;
  return text;
}

}  // namespace

std::string processor_of(std::string_view cpuinfo) {
  std::istringstream lines{std::string(cpuinfo)};
  std::string text;
  for (std::string line; std::getline(lines, line) && !(trimmed(line).empty() && !text.empty());) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = trimmed(std::string_view(line).substr(0, colon));
    const std::string_view value = trimmed(std::string_view(line).substr(colon + 1));
    const std::string part = is_one_of(key, model_keys)  ? std::string(value)
                             : is_one_of(key, flag_keys) ? "(" + vector_sets(value) + ")"
                                                         : std::string();
    if (!part.empty()) text += (text.empty() ? "" : " ") + part;
  }
  return text.empty() ? "unknown" : text;
}

std::string this_processor() {
  std::ifstream file("/proc/cpuinfo");
  return processor_of(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace troupe
