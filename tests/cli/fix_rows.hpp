#pragma once

#include "tests/cli/fix_table.hpp"

/// The parts of the table of fixes, and what their rows are made of.
namespace troupe::testing {

inline words eval_model(const std::string& file, const words& more = {}) {
  words all = {"eval", "--model", file, "--data", "mnist:good-mnist"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
inline words eval_with(const words& more) {
  return eval_model("good.pt", more);
}
inline words eval_data(const std::string& data) {
  return {"eval", "--model", "good.pt", "--data", data};
}
inline const words good_eval = eval_with({});

inline void copy_file(const scratch& directory, const std::string& from, const std::string& to) {
  directory.write(to, file_content(directory.path() / from));
}

/// E01xx.
std::vector<followed_fix> usage_fixes();
/// What a user is told who names no metric of a task, or not what the columns of a table are for.
std::vector<followed_fix> task_fixes();
/// E02xx.
std::vector<followed_fix> model_fixes();
/// Of weights and of folders.
std::vector<followed_fix> weights_fixes();
void make_folders_to_mend(const scratch& directory);
/// Of `troupe train`, but for what takes damaged files: tests/cli/train_fixes_test.cpp.
std::vector<followed_fix> training_fixes();
/// All others.
std::vector<followed_fix> file_fixes();

}  // namespace troupe::testing
