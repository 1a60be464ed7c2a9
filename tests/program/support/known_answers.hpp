#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <troupe/options.hpp>

namespace troupe::testing {

struct layout {
  std::uint32_t stages;
  std::uint32_t replicas;
  std::uint64_t micro_batch;
  std::uint32_t threads;
  optimize_mode optimize;
};

inline constexpr auto by_layer = optimize_mode::layer;
inline constexpr auto as_it_is = optimize_mode::none;

struct known_answer {
  std::string model;
  std::string data;
  std::string loss;
  std::uint64_t correct;
  double mean_loss;
  std::vector<std::uint64_t> correct_by_class;
  /// In place of the model.
  std::string arch = {};
  std::string weights = {};
};

/// Evaluates the 10,000 samples of `known` once per layout: counts and mean must be the known ones, and sums of layouts
/// with the same (micro-batch, threads, optimize) equal to the last bit.
void check(const known_answer& known, const std::vector<layout>& layouts);

}  // namespace troupe::testing
