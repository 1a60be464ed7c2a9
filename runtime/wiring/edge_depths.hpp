#pragma once

#include <cstdint>

#include "messages/limits.hpp"

namespace troupe {

/// The numbers of slots of a run's edges, where they are greater than the consumer's num_pipe_buffers.
struct edge_depths {
  /// The loader's edges.
  std::uint32_t from_loader = 1;
  /// The edges between stages, all alike. It holds for edges into nodes whose num_pipe_buffers the user has not set,
  /// and whose producer cannot choose between replicas. Where it can choose, a deep queue in front of a slow replica
  /// would keep work from the other replicas.
  std::uint32_t between_stages = 1;
};

/// How many micro-batches the loader reads ahead of a first stage: many small ones, so that it is woken seldom; few
/// large ones, because of their memory (limits::prefetch_bytes). `micro_batch_bytes` 0: not known.
[[nodiscard]] std::uint32_t prefetch_slots_for(std::uint64_t micro_batch_bytes);

/// How many micro-batches a stage may run ahead of the next one: many with small activations, so that a short delay of
/// one stage does not stop the other; limits::pipe_buffers_default with large ones (limits::stage_edge_bytes).
/// `activation_bytes` are those of one micro-batch; 0: not known, and taken as large.
[[nodiscard]] std::uint32_t stage_slots_for(std::uint64_t activation_bytes);

}  // namespace troupe
