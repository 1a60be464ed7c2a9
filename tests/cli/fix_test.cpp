// Goal: the fix that an error names works when it is followed to the letter. Method: for each row of fix_table.cpp the
// error is caused, its fix is read and followed, and the error is gone; every code has a row, or a reason to have none.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/bad_input.hpp"
#include "tests/cli/commands_in_child.hpp"
#include "tests/cli/fix_table.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/paths.hpp"
#include <troupe/error_code.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

program_outcome run_in(const scratch& directory, words arguments, const words& environment = {}) {
  const std::string tree = std::filesystem::absolute(source_dir()).string();
  for (std::string& each : arguments) {
    for (std::size_t at = 0; (at = each.find("@/", at)) != std::string::npos;) each.replace(at, 1, tree);
  }
  const bool starts_workers = std::ranges::find(arguments, "--processes") != arguments.end();
  program_call call{.arguments = std::move(arguments)};
  if (!starts_workers) call.body = &commands_in_child;
  call.environment = environment;
  call.environment.emplace_back("TROUPE_THREADS=1");  // machines that build have no cores to spare
  call.directory = directory.path().string();
  return run_troupe(call);
}

/// The line of the first error's fix.
std::string fix_of(const std::string& text) {
  const std::string before = "\n  fix: ";
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return {};
  return text.substr(at + before.size(), text.find('\n', at + before.size()) - at - before.size());
}

class fix_row : public ::testing::TestWithParam<followed_fix> {};

TEST_P(fix_row, is_followed_and_the_error_is_gone) {
  const followed_fix& row = GetParam();
  const scratch directory;
  make_bad_files(directory);
  make_files_to_mend(directory);
  for (const words& each : row.before) ASSERT_EQ(run_in(directory, each).status, 0);
  const program_outcome refused = run_in(directory, row.arguments, row.environment);
  EXPECT_NE(refused.status, 0);
  ASSERT_THAT(refused.err, HasSubstr("error " + row.code));
  EXPECT_THAT(fix_of(refused.err), HasSubstr(row.fix));
  if (row.act != nullptr) row.act(directory);
  const program_outcome followed = run_in(directory, row.then, row.then_environment);
  EXPECT_EQ(followed.status, 0) << followed.err;
  EXPECT_THAT(followed.err, Not(HasSubstr("error E")));
}

INSTANTIATE_TEST_SUITE_P(all, fix_row, ::testing::ValuesIn(followed_fixes()),
                         [](const auto& row) { return row.param.name; });

TEST(fix_table, has_a_row_or_a_reason_for_every_code) {
  std::multiset<std::string> named;
  for (const fix_outside& each : fixes_outside()) named.insert(each.code);
  std::set<std::string> rows;
  for (const followed_fix& each : followed_fixes()) rows.insert(each.code);
  named.insert(rows.begin(), rows.end());
  for (const error_explanation& each : all_error_explanations()) {
    EXPECT_EQ(named.count(code_name(each.code)), 1U) << code_name(each.code) << " " << each.title;
  }
}

}  // namespace
}  // namespace troupe::testing
