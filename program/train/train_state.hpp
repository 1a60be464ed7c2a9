#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/epoch_reader.hpp"
#include <troupe/error.hpp>
#include <troupe/trainer.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// The order of a training's data: a training that goes on has the same.
struct train_data_order {
  /// In an epoch.
  std::uint64_t samples = 0;
  data_order order = data_order::shuffled;
  std::uint64_t seed = 0;
};

/// What a training knows of its own past, beside weights and moments.
struct train_state {
  /// Where the next step begins.
  epoch_position position = {};
  /// By step, also of those without a sample that counts, which change no weight and have no loss (NaN).
  std::vector<double> losses = {};
  std::vector<double> learning_rates = {};
  std::vector<train_evaluation> evaluations = {};
  /// The steps that changed the weights: training_engine::global_steps().
  std::uint64_t applied = 0;

  [[nodiscard]] std::uint64_t steps() const noexcept { return losses.size(); }
};

/// What a checkpoint keeps of a training, under one name in the client's state.
[[nodiscard]] client_state to_client_state(const train_state& state, const train_data_order& data);

/// The same back. `place` names the checkpoint in errors. E0210 where there is no such state, as in a checkpoint that
/// no trainer has saved, or where it contradicts itself; E0104 where it is of other data than `data`.
[[nodiscard]] expected<train_state> from_client_state(const client_state& from, const train_data_order& data,
                                                      const std::string& place);

}  // namespace troupe
