#pragma once

#include <cstdint>
#include <string>

#include "messages/activation.hpp"
#include "messages/score.hpp"
#include "runtime/flow/stage_body.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What the scorer makes of one output of a micro-batch; without samples and words where that is an empty part. E0603
/// if it throws, at `stage`.
[[nodiscard]] expected<score> make_score(scorer& by, std::uint32_t sink, const activation& output,
                                         const std::string& stage);

}  // namespace troupe
