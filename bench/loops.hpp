#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "measurement.hpp"
#include "messages/activation.hpp"
#include "runtime/flow/stage_body.hpp"
#include "workload.hpp"

namespace troupe::bench {

/// What one would write with LibTorch alone: read, forward, count, one micro-batch after another in one thread.
class plain_loop {
 public:
  using forward_function = std::function<expected<payload_ptr>(const activation& input)>;

  /// The same rewritten model as the pipelines'.
  static expected<plain_loop> rewritten(const workload& work, std::uint32_t threads);
  /// The model as LibTorch optimizes it for inference.
  static plain_loop by_libtorch(const workload& work, std::uint32_t threads);

  expected<measurement> run(const workload& work, std::uint64_t micro_batches) const;

 private:
  forward_function forward_;
  std::uint32_t threads_ = 1;
};

/// What a body with one output gives.
expected<payload_ptr> output_of(stage_body& body, const activation& input);

class side_by_side;

/// The stages of a pipeline, each run alone in one thread on inputs that are there already, scoring on the last one.
class lone_stages {
 public:
  /// `boundaries` as in part_boundaries: stage i runs the layers [b[i], b[i+1]).
  static expected<lone_stages> prepare(const workload& work, std::vector<std::size_t> boundaries);

  [[nodiscard]] std::size_t count() const { return boundaries_.size() - 1; }
  expected<measurement> run(const workload& work, std::size_t stage, std::uint64_t micro_batches) const;
  /// All of them at once, exchanging nothing; the time of the slowest: what the machine gives to stages that share
  /// nothing but it.
  expected<measurement> run_side_by_side(const workload& work, std::uint64_t micro_batches) const;

 private:
  expected<measurement> run_among(side_by_side& others, const workload& work, std::size_t stage,
                                  std::uint64_t micro_batches) const;

  std::vector<std::size_t> boundaries_;
  std::vector<std::shared_ptr<stage_body>> bodies_;
  /// Some micro-batches per stage, used in turn.
  std::vector<std::vector<activation>> inputs_;
};

}  // namespace troupe::bench
