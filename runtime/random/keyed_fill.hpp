#pragma once

#include <span>

#include "runtime/random/keyed_numbers.hpp"

namespace troupe {

// Arrays of random numbers. A number depends on the key and on its position in the array alone, with the same bits on
// every x86-64 machine: they are made of additions, multiplications, divisions and roots. At most 2^34 numbers.
// Threads: pure.

/// 0 with `probability`, else 1 / (1 - probability): what a row of a tensor is multiplied by in dropout. `probability`
/// is from 0 to 1; 1 gives zeros.
void fill_dropout_mask(std::span<float> row, double probability, const random_key& key);

/// Evenly distributed from `low` to below `high`.
void fill_uniform(std::span<float> values, double low, double high, const random_key& key);

/// Normally distributed (Box and Muller 1958), with values up to 6.66 deviations from the mean.
void fill_normal(std::span<float> values, double mean, double deviation, const random_key& key);

}  // namespace troupe
