#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

inline constexpr std::size_t shards_max = 10'000;

/// "train-{000..004}.tar" as five names, as bash expands it: numbers upwards or downwards, with as many digits as the
/// ends have where one begins with 0. Several braces give all combinations, the last one fastest. Errors: E0103 for
/// braces with anything else inside, and for more than shards_max names; both name `specification`.
expected<std::vector<std::string>> expand_shards(const std::string& pattern, const std::string& specification);

}  // namespace troupe
