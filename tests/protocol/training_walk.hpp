#pragma once

#include <cstdint>

#include "tests/protocol/exploration.hpp"
#include "tests/protocol/training_model.hpp"

namespace troupe::testing {

/// A training whose shape, limits and deaths are drawn by the seed: up to 4 stages in a copy each or 3 in two.
[[nodiscard]] training_options drawn_training(std::uint64_t seed);

/// One way through the states of a model, drawn by the seed, up to its end or the first violation.
[[nodiscard]] verdict_of<training_violation> walk(const training_options& options, std::uint64_t seed);

/// For the message of a failed expectation.
[[nodiscard]] std::string explain(const training_options& options, const verdict_of<training_violation>& found);

}  // namespace troupe::testing
