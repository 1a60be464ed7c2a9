#include "text_cases.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include "../../support/paths.hpp"
#include "../../support/sanitized.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t differences_max = 12;

encode_options options_of(const json& given) {
  encode_options made;
  made.add_special_tokens = given.at("special");
  if (given.contains("length")) {
    truncation cut{.max_length = given.at("length")};
    cut.stride = given.value("stride", 0U);
    if (given.at("strategy") == "only_first") cut.strategy = truncation_strategy::only_first;
    if (given.at("strategy") == "only_second") cut.strategy = truncation_strategy::only_second;
    if (given.value("side", "right") == "left") cut.direction = text_side::left;
    made.truncate = cut;
  }
  if (given.contains("pad")) {
    padding pad;
    pad.id = given.at("pad").get<token_id>();
    if (given.at("pad_side") == "left") pad.direction = text_side::left;
    if (!given.at("multiple").is_null()) pad.multiple = given.at("multiple");
    if (!given.at("pad_length").is_null()) pad.length = given.at("pad_length");
    made.pad = pad;
  }
  return made;
}

std::string text_of_spans(const encoding& of, const std::vector<text_span>& spans) {
  std::ostringstream out;
  for (std::size_t i = 0; i < of.size(); ++i) {
    out << of.ids[i] << '[' << spans[i].begin << ',' << spans[i].end << "] ";
  }
  return out.str();
}

/// Offsets in characters of the text that each token comes from.
std::vector<text_span> spans_in_characters(const encoding& of, const std::string& text, const std::string& pair) {
  std::vector<text_span> first = in_characters(text, of.offsets);
  const std::vector<text_span> second = in_characters(pair, of.offsets);
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of.sequence[i] == 1) first[i] = second[i];
  }
  return first;
}

/// Empty, or the difference.
std::string difference(const encoding& made, const json& wanted, const std::string& text, const std::string& pair) {
  const auto spans = spans_in_characters(made, text, pair);
  std::vector<std::uint32_t> flat;
  for (const text_span& span : spans) {
    flat.push_back(span.begin);
    flat.push_back(span.end);
  }
  std::ostringstream expected;
  for (std::size_t i = 0; i < wanted[0].size(); ++i) {
    expected << wanted[0][i] << '[' << wanted[4][2 * i] << ',' << wanted[4][2 * i + 1] << "] ";
  }
  if (json(made.ids) != wanted[0] || json(flat) != wanted[4]) {
    return "made   " + text_of_spans(made, spans) + "\n  wanted " + expected.str();
  }
  if (json(made.attention_mask) != wanted[2]) return "attention mask";
  if (json(made.special_tokens_mask) != wanted[3])
    return "special tokens mask " + json(made.special_tokens_mask).dump();
  return {};
}

/// Where there is no room for one of the texts, the package gives windows that are longer than they may be.
bool is_too_long(const json& windows, const json& options) {
  return std::any_of(windows.begin(), windows.end(), [&](const json& window) {
    const auto mask = window[2].get<std::vector<std::size_t>>();
    const auto count = std::accumulate(mask.begin(), mask.end(), std::size_t{0});
    return options.contains("length") && count > options.at("length").get<std::size_t>();
  });
}

std::string differences(const tokenizer& by, const json& line, const std::string& text, const encode_options& options) {
  const std::string pair = line.value("p", "");
  const auto made = line.contains("p") ? by.encode_pair(text, pair, options) : by.encode(text, options);
  if (line.contains("e")) {
    // The package refuses a long stride also where nothing is cut.
    const std::string problem = line.at("e");
    const bool is_early = problem.starts_with("tokenizer stride set");
    return made && !is_early ? "the package gives an error: " + problem : "";
  }
  const json& wanted = line.at("w");
  if (!made) return is_too_long(wanted, line.at("o")) ? "" : to_string(made.error());
  if (made->size() != wanted.size()) {
    return std::to_string(made->size()) + " windows in place of " + std::to_string(wanted.size());
  }
  for (std::size_t i = 0; i < made->size(); ++i) {
    const std::string found = difference((*made)[i], wanted[i], text, pair);
    if (!found.empty()) return "window " + std::to_string(i) + ":\n  " + found;
  }
  // Type ids of overflowing windows, and sequences without special tokens, are those of the package only in the first
  // window of one text.
  if (!line.contains("p") && json(made->front().type_ids) != wanted[0][1]) return "type ids";
  if (!line.contains("d")) return {};
  if (by.decode(made->front().ids, false) != line.at("d")) return "decoded: " + by.decode(made->front().ids, false);
  if (by.decode(made->front().ids) != line.at("s")) return "decoded: " + by.decode(made->front().ids);
  return {};
}

std::string difference_of_repeated(const tokenizer& by, const json& line) {
  if (instrumented) return {};
  std::string text;
  const std::string part = line.at("t");
  for (std::size_t i = 0; i < line.at("r"); ++i) text += part;
  const auto made = by.encode(text, options_of(line.at("o")));
  if (!made) return to_string(made.error());
  const encoding& only = made->front();
  const auto spans = in_characters(text, only.offsets);
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < only.size(); ++i)
    numbers.insert(numbers.end(), {only.ids[i], spans[i].begin, spans[i].end});
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(numbers.data()), static_cast<uInt>(numbers.size() * 4));
  if (json{only.size(), sum} == line.at("c")) return {};
  return std::to_string(only.size()) + " tokens in place of " + line.at("c").dump() + ": repeated";
}

}  // namespace

std::string unpacked(const fs::path& file) {
  gzFile in = gzopen(file.c_str(), "rb");
  EXPECT_NE(in, nullptr) << file;
  std::string text;
  std::vector<char> block(1U << 16);
  for (int count = 1; in != nullptr && count > 0;) {
    count = gzread(in, block.data(), static_cast<unsigned>(block.size()));
    if (count > 0) text.append(block.data(), static_cast<std::size_t>(count));
  }
  if (in != nullptr) gzclose(in);
  return text;
}

void unpack_tokenizers(const fs::path& to) {
  for (const auto& entry : fs::directory_iterator(source_dir() / "tests/runtime/text/recorded")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".json.gz")) continue;
    std::ofstream(to / name.substr(0, name.size() - 3), std::ios::binary) << unpacked(entry.path());
  }
}

std::size_t compare_cases(const fs::path& lines, const fs::path& folder) {
  std::istringstream in(unpacked(lines));
  std::map<std::string, std::shared_ptr<const tokenizer>> opened;
  std::size_t count = 0;
  std::size_t wrong = 0;
  for (std::string text; std::getline(in, text);) {
    const json line = json::parse(text);
    const std::string kind = line.at("k");
    auto& by = opened[kind];
    if (by == nullptr) {
      auto made = tokenizer::open(folder / (kind + ".json"));
      if (!made) {
        ADD_FAILURE() << to_string(made.error());
        return count;
      }
      by = *made;
    }
    ++count;
    const auto options = line.at("o").value("file", false) ? by->file_options() : options_of(line.at("o"));
    const std::string found =
        line.contains("r") ? difference_of_repeated(*by, line) : differences(*by, line, line.at("t"), options);
    if (found.empty()) continue;
    if (++wrong > differences_max) continue;
    ADD_FAILURE() << kind << " " << line.at("t") << " " << line.value("p", json()) << " " << line.at("o") << "\n  "
                  << found;
  }
  EXPECT_EQ(wrong, 0U) << "of " << count;
  return count;
}

}  // namespace troupe::testing
