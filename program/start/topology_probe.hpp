#pragma once

#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "messages/activation.hpp"
#include "program/start/stage_bodies.hpp"
#include "runtime/data/sample_block.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

/// Told the place that is tried out next: a node's name, or the file of the pipeline that it begins.
using probe_note = std::function<void(const std::string& place)>;

/// Sends the first micro-batch of a run through one copy of each stage, in their order and on the calling thread, and
/// cuts pipelines by the input that reaches them (cut()).
class topology_probe {
 public:
  /// `run` and `bodies` outlive it. `first` has the run's first micro-batch; without inputs no stage is tried,
  /// and pipelines are cut without a sample. `journaled`: journaled_plain() of the run.
  topology_probe(const checked_run& run, stage_bodies& bodies, const sample_block& first,
                 std::map<std::string, bool> journaled);

  /// Once. Adds the cuts of all pipelines to the bodies. A stage of the user's code on the CPU computes twice, and is
  /// E0216 where the bits differ, unless its options allow that. Errors: E0602, naming the stage; those of
  /// model_source::open() and cut(); E0108 for a metric that does not fit its outputs, where the data is known; E0607
  /// after `stop`. A stage that gets no sample, because a route sends none to it, is not tried; a pipeline there is cut
  /// by `parameters` where it asks for `profile`.
  [[nodiscard]] expected<void> run(std::uint32_t classes, const probe_note& note, const std::stop_token& stop);

  /// After run(): most bytes of a whole micro-batch on an edge whose slots are counted by its bytes (follows_size()); 0
  /// where that is not known.
  [[nodiscard]] std::uint64_t between_bytes() const;
  /// After run(): of stages whose results are not repeatable, which was allowed. Models have theirs in their cuts.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  [[nodiscard]] expected<void> probe_node(stage_index node, const probe_note& note, const std::stop_token& stop);
  [[nodiscard]] expected<void> cut_here(const cut_node& part, const activation& input, const std::stop_token& stop);
  [[nodiscard]] cut_request request_for(const cut_node& part, bool has_input) const;
  [[nodiscard]] payload_ptr sample_for(const cut_node& part, const activation& input) const;
  [[nodiscard]] expected<void> compute(stage_index node, std::span<const activation> inputs);
  [[nodiscard]] expected<void> repeat(stage_index node, stage_body& body, std::span<const activation> inputs);
  [[nodiscard]] std::vector<activation> inputs_of(stage_index node) const;
  [[nodiscard]] std::string place_of(stage_index node) const;

  const checked_run& run_;
  stage_bodies& bodies_;
  bool has_sample_;
  std::map<std::string, bool> journaled_plain_;
  std::vector<std::string> warnings_;
  /// By node and output port.
  std::vector<std::vector<activation>> outputs_;
};

/// Bytes of the tensors and labels of a part.
[[nodiscard]] std::uint64_t bytes_of(const activation& part);
/// The first micro-batch as the loader sends it.
[[nodiscard]] activation loaded_activation(const sample_block& block);

}  // namespace troupe
