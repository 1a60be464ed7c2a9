#pragma once

#include <cstdint>

#include "messages/limits.hpp"

namespace troupe {

/// Slots of a run's edges, where they are more than the consumer's num_pipe_buffers.
struct edge_depths {
  /// The loader's edges.
  std::uint32_t from_loader = 1;
  /// Edges between stages, all alike: into nodes for which no num_pipe_buffers was named, and whose producer has no
  /// choice of replicas. With such a choice a deep queue in front of a slow replica would keep work from the
  /// others.
  std::uint32_t between_stages = 1;
};

/// How far the loader reads ahead of a first stage: small micro-batches far, so that waking it costs little; large ones
/// hardly, for their memory (limits::prefetch_bytes). `micro_batch_bytes` 0: not known.
[[nodiscard]] std::uint32_t prefetch_slots_for(std::uint64_t micro_batch_bytes);

/// How far a stage may run ahead of the next one: far with small activations, so that neither waits whenever the other
/// was held up for a moment; with large ones (limits::stage_edge_bytes) by limits::pipe_buffers_default.
/// `activation_bytes` are of one micro-batch; 0: not known, taken as large.
[[nodiscard]] std::uint32_t stage_slots_for(std::uint64_t activation_bytes);

}  // namespace troupe
