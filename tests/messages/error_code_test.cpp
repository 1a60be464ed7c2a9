// Goal: every code is explained, has the right exit status and stands in docs/errors.md. Reads the enum from its
// header.
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/paths.hpp"
#include <troupe/error.hpp>
#include <troupe/error_code.hpp>

namespace troupe {
namespace {

using row = std::optional<std::pair<int, std::string>>;

/// What `parse` finds in the lines of a file, by number.
std::map<int, std::string> rows_of(const std::string& file, const std::function<row(const std::string&)>& parse) {
  std::ifstream in(testing::source_dir() / file);
  EXPECT_TRUE(in) << file;
  std::map<int, std::string> found;
  for (std::string line; std::getline(in, line);) {
    const auto parsed = parse(line);
    const bool is_new = !parsed || found.insert(*parsed).second;
    EXPECT_TRUE(is_new) << file << ": twice: " << line;
  }
  return found;
}

/// "  model_truncated = 203,"
row enumerator(const std::string& line) {
  const auto at = line.find(" = ");
  if (at == std::string::npos || !line.ends_with(',')) return std::nullopt;
  return row({std::stoi(line.substr(at + 3)), line.substr(0, at)});
}

/// The rows between the head of an enumeration in the header and its end.
std::map<int, std::string> enumerators_of(const std::string& file, const std::string& head) {
  std::ifstream in(testing::source_dir() / file);
  std::map<int, std::string> found;
  bool is_inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(head)) is_inside = true;
    if (line.starts_with("};")) is_inside = false;
    const auto parsed = is_inside ? enumerator(line) : std::nullopt;
    const bool is_new = !parsed || found.insert(*parsed).second;
    EXPECT_TRUE(is_new) << file << ": twice: " << line;
  }
  return found;
}

/// "| E0203 | 3 | model file is truncated |", without the code.
row document_row(const std::string& line) {
  if (!line.starts_with("| E0")) return std::nullopt;
  return row({std::stoi(line.substr(3)), line.substr(8)});
}

TEST(error_codes, every_enumerator_is_explained_and_nothing_else) {
  std::set<int> in_header;
  for (const auto& [number, name] : enumerators_of("include/troupe/error_code.hpp", "enum class error_code")) {
    in_header.insert(number);
  }
  std::set<int> in_table;
  for (const auto& e : all_error_explanations()) in_table.insert(static_cast<int>(e.code));
  EXPECT_GE(in_header.size(), 50u);
  EXPECT_EQ(in_table, in_header);
  EXPECT_EQ(in_table.size(), all_error_explanations().size());
}

TEST(error_codes, explanations_have_two_to_four_sentences) {
  for (const auto& e : all_error_explanations()) {
    const std::string text(e.explanation);
    int ends = 0;
    for (auto at = text.find('.'); at != text.npos; at = text.find('.', at + 1)) {
      if (at + 1 == text.size() || text[at + 1] == ' ') ++ends;
    }
    EXPECT_GE(ends, 2) << code_name(e.code);
    EXPECT_LE(ends, 4) << code_name(e.code);
    EXPECT_FALSE(e.title.empty() || e.title.back() == '.') << code_name(e.code);
    EXPECT_EQ(text.back(), '.') << code_name(e.code);
  }
}

exit_status documented_status(int number) {
  switch (number) {
    case 605:
      return exit_status::deadline;
    case 606:
      return exit_status::interrupted;
    case 610:
    case 615:
    case 616:
    case 618:
      return exit_status::work_lost;
    case 801:
    case 802:
    case 804:
      return exit_status::bad_input;
    default:
      break;
  }
  if (number < 200 || (number >= 500 && number < 600)) return exit_status::usage;
  return number < 500 ? exit_status::bad_input : exit_status::failure;
}

TEST(error_codes, exit_status_follows_the_hundreds) {
  for (const auto& e : all_error_explanations()) {
    EXPECT_EQ(status_of(e.code), documented_status(static_cast<int>(e.code))) << code_name(e.code);
    EXPECT_NE(e.status, exit_status::ok);
  }
}

TEST(error_codes, names_and_parsing) {
  EXPECT_EQ(code_name(error_code::model_truncated), "E0203");
  for (const char* text : {"E0203", "e203", "203", "0203", "E203"}) {
    EXPECT_EQ(parse_code(text), error_code::model_truncated) << text;
  }
  for (const char* text : {"", "E", "0", "E0", "-203", "203x", "E 203", "EE203", "65739", "199", "0xcb", "E0203 "}) {
    EXPECT_EQ(parse_code(text), std::nullopt) << text;
  }
  for (const auto& e : all_error_explanations()) EXPECT_EQ(parse_code(code_name(e.code)), e.code);
}

TEST(error_codes, text_of_an_error) {
  EXPECT_EQ(to_string(error{error_code::model_truncated, "model.pt", "ends after 10 bytes", "Fetch it again"}),
            "error E0203: model.pt: ends after 10 bytes\n  fix: Fetch it again");
  EXPECT_EQ(to_string(error{error_code::internal, "", "c", ""}), "error E0601: c");
}

TEST(error_codes_death, unknown_number_is_a_broken_invariant) {
  EXPECT_DEATH(explain(static_cast<error_code>(999)), "every enumerator of error_code has an explanation");
}

TEST(error_codes, document_says_the_same) {
  auto documented = rows_of("docs/errors.md", document_row);
  for (const auto& e : all_error_explanations()) {
    const std::string wanted = "| " + std::to_string(static_cast<int>(e.status)) + " | " + std::string(e.title) + " |";
    EXPECT_EQ(documented[static_cast<int>(e.code)], wanted) << "row of " << code_name(e.code) << " in docs/errors.md";
  }
  EXPECT_EQ(documented.size(), all_error_explanations().size()) << "docs/errors.md has rows of codes that do not exist";
}

}  // namespace
}  // namespace troupe
