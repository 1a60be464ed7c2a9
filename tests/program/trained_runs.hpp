#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <troupe/training_engine.hpp>

namespace troupe::testing {

/// What a training has come to.
struct trained_outcome {
  std::vector<double> losses;
  /// Of the gradients.
  std::vector<double> norms;
  state_dict weights;
};

/// So many steps.
inline trained_outcome train(training_engine& engine, std::uint64_t count) {
  trained_outcome made;
  for (std::uint64_t step = 0; step < count; ++step) {
    const auto done = engine.train_batch();
    EXPECT_TRUE(done) << to_string(done.error());
    if (!done) return made;
    EXPECT_EQ(done->step + 1, engine.global_steps());
    made.losses.push_back(done->loss);
    made.norms.push_back(done->gradient_norm);
  }
  auto weights = engine.module_state_dict();
  EXPECT_TRUE(weights) << to_string(weights.error());
  if (weights) made.weights = std::move(*weights);
  return made;
}

inline void expect_equal(const state_dict& made, const state_dict& wanted) {
  ASSERT_EQ(made.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(made[i].name, wanted[i].name);
    EXPECT_TRUE(at::equal(made[i].tensor, wanted[i].tensor)) << wanted[i].name;
  }
}

inline void expect_equal(const trained_outcome& made, const trained_outcome& wanted) {
  EXPECT_EQ(made.losses, wanted.losses);
  EXPECT_EQ(made.norms, wanted.norms);
  expect_equal(made.weights, wanted.weights);
}

/// Faults that are injected into a training.
struct case_of_faults {
  const char* name;
  std::uint32_t replicas;
  std::vector<std::string> faults;
};

inline std::size_t lines_with(const std::string& text, const std::filesystem::path& file) {
  std::ifstream in(file);
  std::size_t count = 0;
  for (std::string line; std::getline(in, line);) count += line.find(text) == std::string::npos ? 0 : 1;
  return count;
}

}  // namespace troupe::testing
