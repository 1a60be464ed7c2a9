#include "runtime/data/npy_path.hpp"

#include <charconv>
#include <vector>

#include "runtime/data/cast_names.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

constexpr std::string_view ignore_key = "ignore=";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

tl::unexpected<error> bad_path(const std::string& text, std::string cause, std::string fix) {
  return fail(error_code::value_out_of_range, "npy:" + text, std::move(cause), std::move(fix));
}

tl::unexpected<error> unknown_option(const std::string& text, const std::string& option) {
  std::vector<std::string> known;
  known.reserve(cast_names.size());
  for (const cast_name& each : cast_names) known.emplace_back(each.name);
  return bad_path(text, "expected npy:INPUTS,LABELS[,DTYPE][,ignore=LABEL], and there is no type \"" + option + "\"",
                  suggest_fix(option, known));
}

expected<void> read_ignored(const std::string& text, std::string_view digits, npy_path& into) {
  std::int64_t label = 0;
  const auto [stop, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), label);
  if (failure != std::errc{} || stop != digits.data() + digits.size()) {
    return bad_path(text, "expected a whole number behind ignore=, found \"" + std::string(digits) + "\"",
                    "write the label of the samples that are left out, as in ignore=-100");
  }
  if (into.ignored) return bad_path(text, "names two labels to ignore", "name one");
  into.ignored = label;
  return {};
}

}  // namespace

expected<npy_path> parse_npy_path(const std::string& text) {
  const std::vector<std::string> parts = split(text);
  bool is_complete = parts.size() >= 2;
  for (const std::string& part : parts) is_complete = is_complete && !part.empty();
  if (!is_complete) {
    return bad_path(text,
                    "expected two paths with one comma between, and perhaps options behind more commas, "
                    "npy:INPUTS,LABELS[,DTYPE][,ignore=LABEL]",
                    "give both paths, and rename files that have a comma in their name");
  }
  npy_path path{.text = text, .inputs = parts[0], .labels = parts[1], .dtype = {}, .ignored = {}};
  for (std::size_t i = 2; i < parts.size(); ++i) {
    if (parts[i].starts_with(ignore_key)) {
      if (auto read = read_ignored(text, std::string_view(parts[i]).substr(ignore_key.size()), path); !read) {
        return tl::make_unexpected(read.error());
      }
      continue;
    }
    const at::ScalarType dtype = cast_type(parts[i]);
    if (dtype == at::ScalarType::Undefined) return unknown_option(text, parts[i]);
    if (path.dtype) return bad_path(text, "names two types", "name one");
    path.dtype = dtype;
  }
  return path;
}

}  // namespace troupe
