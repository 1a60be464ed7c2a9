#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/paths.hpp"

namespace troupe::testing {

/// `troupe eval`, one intra-op thread, so that bits do not depend on how many stages there are.
inline std::vector<std::string> eval_of(const std::string& model, const std::string& data, std::uint64_t micro_batch,
                                        std::uint64_t limit) {
  const auto dir = std::filesystem::absolute(data_dir());
  const auto colon = data.find(':') + 1;
  return {"eval",
          "--model",
          (dir / model).string(),
          "--data",
          data.substr(0, colon) + (dir / data.substr(colon)).string(),
          "--micro-batch",
          std::to_string(micro_batch),
          "--limit",
          std::to_string(limit),
          "--threads",
          "1",
          "--json"};
}

inline std::vector<std::string> lenet(std::uint64_t micro_batch, std::uint64_t limit) {
  return eval_of("mnist/lenet.pt", "mnist:mnist", micro_batch, limit);
}

inline std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace troupe::testing
