#pragma once

#include <span>

#include "runtime/random/keyed_numbers.hpp"

namespace troupe {

/// 0 with `probability`, else 1 / (1 - probability): what a row of a tensor is multiplied by in dropout. `probability`
/// is from 0 to 1; 1 gives zeros. A number depends on the key and on its position in the row alone, with the same bits
/// on every x86-64 machine. At most 2^34 numbers. Threads: pure.
void fill_dropout_mask(std::span<float> row, double probability, const random_key& key);

}  // namespace troupe
