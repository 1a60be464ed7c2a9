#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// One evaluation request, numbered from 0 within a run.
using call_number = std::uint64_t;

/// Position of a node in the wired topology: stages, joins and routes in topological order, then the source.
using stage_index = std::uint32_t;
/// Position of a copy of a node, from 0. Replicas of a pipeline are numbered alike in all stages.
using replica_index = std::uint32_t;

/// Number of a start of one stage replica: 0 for the first. The run takes news from the latest incarnation alone.
using incarnation_number = std::uint32_t;
/// Number of a wiring of the run: 1 for the first, 0 before it. What belongs to an older epoch than the receiver's is
/// fenced, that is dropped unread or refused. An edge of a newer one is refused until the receiver is in that epoch. A
/// worker that speaks of an epoch which its driver has not begun is killed.
using epoch_number = std::uint32_t;

/// The unit of work, of credit and of replay. Ids are totally ordered: first by call, then by position in the call.
struct micro_batch_id {
  call_number call = 0;
  std::uint64_t index = 0;

  friend auto operator<=>(const micro_batch_id&, const micro_batch_id&) = default;
};

/// "call 0, micro-batch 17", as every error and log line prints an id.
std::string to_string(micro_batch_id id);

/// Consecutive samples [begin, end) of the data set, begin <= end; a sample's index never changes.
struct sample_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] std::uint64_t size() const noexcept { return end - begin; }
  friend bool operator==(const sample_range&, const sample_range&) = default;
};

/// Where something runs: one copy of one node. The loader has an address too, that of the source; a sink has none, as
/// the stage whose outputs it scores serves it.
struct stage_address {
  stage_index stage = 0;
  replica_index replica = 0;

  friend auto operator<=>(const stage_address&, const stage_address&) = default;
};

/// The samples that a part of a micro-batch holds: positions counted from the micro-batch's first sample, ascending,
/// each once. Row k of every tensor of the part belongs to the k-th of them. An empty set is an empty part.
using row_set = std::vector<std::uint32_t>;
/// Null: all samples of the micro-batch.
using row_set_ptr = std::shared_ptr<const row_set>;

}  // namespace troupe
