#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <troupe/fault_plan.hpp>
#include <troupe/training_engine.hpp>

namespace troupe::testing {

/// How a training of the same small model and data is run.
struct training_setup {
  std::uint32_t stages = 2;
  std::uint32_t replicas = 1;
  optimizer_kind optimizer = optimizer_kind::sgd;
  bool in_workers = true;

  [[nodiscard]] std::string text() const;
  /// Of a text that text() gave.
  [[nodiscard]] static training_setup of(const std::string& text);
};

inline constexpr std::uint64_t killed_micro_batches = 4;
inline constexpr std::uint64_t killed_steps = 8;

/// SHA-256 of what a training has made: hexadecimal digits.
struct training_digests {
  std::string losses;
  std::string weights;
  std::string moments;

  bool operator==(const training_digests&) const = default;
};

/// Of all steps, through `engine`, which has made `before` of them. `save_every`: checkpoints into `dir` after so many
/// steps; 0: none.
struct training_run {
  std::uint64_t save_every = 0;
  std::filesystem::path dir = {};
};

[[nodiscard]] expected<std::unique_ptr<training_engine>> make_killed_engine(
    const training_setup& how, fault_plan faults = {}, const std::string& log = {},
    const training_journal_options& journal = {});
/// Trains up to killed_steps. A journal of the engine has the losses of the steps before; otherwise there are none.
/// `scratch`: a folder for a checkpoint, from which the moments are read.
[[nodiscard]] expected<training_digests> finish_training(training_engine& engine, const std::filesystem::path& scratch,
                                                         const training_run& how = {});

/// Faults of one plan that hit workers, drawn from a seed: in all phases of a step, also during recovery.
[[nodiscard]] fault_plan draw_kills(std::uint64_t seed, const training_setup& how);

}  // namespace troupe::testing
