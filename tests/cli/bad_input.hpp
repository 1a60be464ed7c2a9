#pragma once

#include <string>
#include <vector>

#include "tests/cli/scratch.hpp"

namespace troupe::testing {

/// Fills a directory with models, data and configs that are wrong in one way each, and good ones named good.pt,
/// good-mnist.
void make_bad_files(const scratch& directory);

/// One command line that must be refused.
struct bad_input {
  std::string name;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  int status;
  /// The code, and a piece of the message that names the fault.
  std::string code;
  std::string piece;
};

std::vector<bad_input> bad_inputs();

}  // namespace troupe::testing
