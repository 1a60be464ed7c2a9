#pragma once

#include <memory>

#include "graph_case.hpp"
#include "runtime/topology/wiring_plan.hpp"

namespace troupe::testing {

/// What a node computes in simulation. Every sample is a number; each node mixes, sample by sample, its own name with
/// the numbers of all inputs that hold the sample, and each output adds its number. A route sends a sample to the
/// output that its mixed number says. A join insists on inputs without a sample in common.
/// The case must outlive the body.
std::shared_ptr<stage_body> make_graph_body(const graph_case& given, const wired_node& node);

/// The calls of a case with their folds, which go into `folds`.
std::vector<graph_call> make_graph_calls(const graph_case& given,
                                         std::vector<std::vector<std::shared_ptr<hash_fold>>>& folds);

/// The numbers that all of this starts from.
std::uint64_t name_hash(const std::string& name);
std::uint64_t sample_hash(micro_batch_id id, std::uint32_t row);
std::uint32_t rows_of_micro_batch(micro_batch_id id);
/// Of the same call.
std::uint64_t samples_before(micro_batch_id id);

}  // namespace troupe::testing
