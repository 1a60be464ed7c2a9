#include "tests/docs/page_rules.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "tests/support/refused_words.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

/// Flags of other programs, and a misspelling that a page shows with its error.
const std::set<std::string> foreign_flags = {
    "--build",   "--install", "--prefix", "--preset",    "--target",          "--env-file",     "--help",
    "--version", "--stgaes",  "--nnodes", "--no-python", "--ntasks-per-node", "--gtest_filter", "--rerun-failed"};

/// Names of Python, of system calls, of formats, of formulas and of the example in CONTRIBUTING.md, which no source of
/// ours has.
const std::set<std::string> foreign_words = {"member_",       "SCHED_BATCH",   "futex_wake",
                                             "length_crc",    "label_i",       "sum_j",
                                             "x_j",           "x_label",       "gradient_accumulation_steps",
                                             "data_iter",     "dynamic_shape", "f1_score",
                                             "zero_division", "log_cosh"};

bool is_path_char(char c) {
  return is_word(c) || std::string_view("/.-{},<>*~$").find(c) != std::string_view::npos;
}

std::vector<std::string> runs_of(const std::string& text, bool (*belongs)(char)) {
  std::vector<std::string> runs(1);
  for (const char c : text) {
    if (belongs(c)) {
      runs.back() += c;
    } else if (!runs.back().empty()) {
      runs.emplace_back();
    }
  }
  if (runs.back().empty()) runs.pop_back();
  return runs;
}

/// "runtime/{os,edge}/x" is two paths.
std::vector<std::string> expanded(const std::string& path) {
  const std::size_t open = path.find('{');
  const std::size_t close = path.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return {path};
  std::vector<std::string> paths;
  std::istringstream parts(path.substr(open + 1, close - open - 1));
  for (std::string part; std::getline(parts, part, ',');) {
    paths.push_back(path.substr(0, open) + part + path.substr(close + 1));
  }
  return paths;
}

class page_check {
 public:
  page_check(const fs::path& root, const page& each, const named_things& things)
      : root_(root), page_(each), things_(things) {}

  std::vector<std::string> run() {
    for (const page_link& link : page_.links) check_link(link);
    for (const page_text& span : page_.spans) {
      check_paths(span);
      check_symbols(span);
      check_calls(span);
    }
    for (std::size_t i = 0; i < page_.lines.size(); ++i) {
      check_flags({i + 1, page_.lines[i]});
      check_codes({i + 1, page_.lines[i]});
    }
    return std::move(found_);
  }

 private:
  void say(std::size_t line, const std::string& why) {
    found_.push_back(page_.file.string() + ":" + std::to_string(line) + ": " + why);
  }

  void check_link(const page_link& link) {
    if (link.target.find("://") != std::string::npos) return;
    const std::size_t hash = std::min(link.target.find('#'), link.target.size());
    const fs::path target = (page_.file.parent_path() / link.target.substr(0, hash)).lexically_normal();
    const bool is_here = hash == 0;
    if (!is_here && !fs::exists(root_ / target)) return say(link.line, "no file " + target.string());
    if (hash == link.target.size()) return;
    const auto anchors = is_here ? page_.anchors : read_page(root_, target).anchors;
    if (std::ranges::find(anchors, link.target.substr(hash + 1)) == anchors.end()) {
      say(link.line, "no heading " + link.target);
    }
  }

  void check_paths(const page_text& span) {
    for (std::string run : runs_of(span.text, is_path_char)) {
      while (!run.empty() && std::string_view(".,-").find(run.back()) != std::string_view::npos) run.pop_back();
      if (run.find_first_of("<>*~$") != std::string::npos) continue;
      for (const std::string& all : expanded(run)) {
        // Data are named as kind:FILE,OTHER,option=value.
        for (std::size_t begin = 0; begin < all.size(); begin = all.find_first_not_of(',', all.find(',', begin))) {
          check_path(span.line, all.substr(begin, all.find(',', begin) - begin));
        }
      }
    }
  }

  void check_path(std::size_t line, const std::string& path) {
    const std::size_t slash = path.find('/');
    if (slash == std::string::npos) {
      const bool is_source = path.ends_with(".hpp") || path.ends_with(".cpp");
      if (is_source && path.size() > 4 && !things_.file_names.contains(path)) say(line, "no file " + path);
      return;
    }
    if (path.starts_with('.')) return;
    const bool is_of_tree = things_.folders.contains(path.substr(0, slash));
    const bool is_source = path.ends_with(".hpp") || path.ends_with(".cpp");
    if (!is_of_tree && !is_source) return;
    if (path.starts_with("torch/") || path.starts_with("ATen/")) return;
    if (!fs::exists(root_ / path) && !fs::exists(root_ / "include" / path)) say(line, "no file " + path);
  }

  void check_symbols(const page_text& span) {
    // paths and flags have rules of their own; the others are taken name by name: a::b(c_d) has two
    for (const std::string& run : runs_of(span.text, [](char c) { return is_path_char(c) || c == ':'; })) {
      if (run.find('/') != std::string::npos || run.find("--") != std::string::npos) continue;
      const std::size_t definition = run.starts_with("-D") ? 2 : 0;  // of CMake
      for (const std::string& name : runs_of(run.substr(definition), [](char c) { return is_word(c) || c == ':'; })) {
        if (name.find("::") != std::string::npos || name.find('_') != std::string::npos) check_symbol(span.line, name);
      }
    }
  }

  /// "prune()": a name that has its parentheses is one of ours, whatever it looks like.
  void check_calls(const page_text& span) {
    for (std::size_t open = span.text.find('('); open != std::string::npos; open = span.text.find('(', open + 1)) {
      std::size_t begin = open;
      while (begin > 0 && (is_word(span.text[begin - 1]) || span.text[begin - 1] == ':')) --begin;
      const std::string name = span.text.substr(begin, open - begin);
      const bool is_checked = name.find("::") != std::string::npos || name.find('_') != std::string::npos;
      if (begin < open && !is_checked) check_symbol(span.line, name);
    }
  }

  void check_symbol(std::size_t line, const std::string& name) {
    if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) return;
    if (name.ends_with("_test")) {
      if (!things_.test_names.contains(name)) say(line, "no test " + name);
      return;
    }
    const std::vector<std::string> parts = runs_of(name, is_word);
    for (const std::string& part : parts) {
      if (!things_.words.contains(part) && !foreign_words.contains(part)) return say(line, "no name " + name);
    }
    const bool is_foreign = name.starts_with("std::") || name.starts_with("torch::") || name.starts_with("at::");
    if (parts.size() > 1 && !is_foreign && !is_in_a_header(parts[parts.size() - 2], parts.back()))
      say(line, "no name " + name);
  }

  [[nodiscard]] bool is_in_a_header(const std::string& outer, const std::string& inner) const {
    return std::ranges::any_of(things_.headers, [&](const std::set<std::string>& words) {
      return words.contains(outer) && words.contains(inner);
    });
  }

  void check_flags(const page_text& line) {
    for (std::size_t at = line.text.find("--"); at != std::string::npos; at = line.text.find("--", at + 2)) {
      const bool begins =
          at == 0 || (!is_word(line.text[at - 1]) && line.text[at - 1] != '-' && line.text[at - 1] != '#');
      std::size_t end = at + 2;
      while (end < line.text.size() && (is_word(line.text[end]) || line.text[end] == '-')) ++end;
      const std::string flag = line.text.substr(at, end - at);
      if (!begins || flag.size() < 4 || std::islower(static_cast<unsigned char>(flag[2])) == 0) continue;
      if (!things_.flags.contains(flag) && !foreign_flags.contains(flag)) say(line.line, "no flag " + flag);
    }
  }

  void check_codes(const page_text& line) {
    for (const std::string& run : runs_of(line.text, is_word)) {
      const bool is_code =
          run.size() == 5 && run.starts_with("E0") && std::isdigit(static_cast<unsigned char>(run[4])) != 0;
      if (is_code && !things_.error_codes.contains(run)) say(line.line, "no error code " + run);
    }
  }

  const fs::path& root_;
  const page& page_;
  const named_things& things_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> name_findings(const fs::path& root, const page& each, const named_things& things) {
  return page_check(root, each, things).run();
}

std::vector<std::string> language_findings(const page& each) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < each.lines.size(); ++i) {
    const auto is_control = [](unsigned char c) { return std::iscntrl(c) != 0; };
    if (std::ranges::none_of(each.lines[i], is_control)) continue;
    found.push_back(each.file.string() + ":" + std::to_string(i + 1) + ": a control character");
  }
  for (const auto& [line, text] : each.prose) {
    for (const refused_place& place : refused_words_in(text)) {
      found.push_back(each.file.string() + ":" + std::to_string(line) + ": \"" + std::string(place.words) + '"');
    }
  }
  return found;
}

}  // namespace troupe::testing
