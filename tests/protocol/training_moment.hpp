#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace troupe::testing {

// What distinguishes two moments of a training, as numbers: weights are their version, a gradient is the set of
// micro-batches in it.

/// Bytes of a moment; unused ones are zero.
using training_state = std::array<std::uint8_t, 96>;

constexpr std::size_t training_copies_max = 6;
constexpr std::size_t training_slots_max = 4;
constexpr std::uint8_t training_steps_max = 3;
constexpr std::uint8_t training_deaths_max = 2;

/// Messages on an edge, by id: the number of a micro-batch, counted through all steps.
struct id_queue {
  std::uint8_t count = 0;
  std::array<std::uint8_t, training_slots_max> ids{};

  [[nodiscard]] std::uint8_t head() const noexcept { return ids[0]; }
  void push(std::uint8_t id) noexcept { ids[count++] = id; }
  void pop() noexcept;
};

/// One replica of one stage, with the messages from it and for it.
struct stage_copy {
  // Kept by its tier when it dies.
  std::uint8_t version = 0;   ///< decisions that were carried out
  std::uint8_t finished = 0;  ///< 1 + the step of the finished gradient; 0: there is none
  std::uint8_t is_torn = 0;   ///< a finished gradient is being written

  // Of the engine.
  std::uint8_t is_alive = 1;
  std::uint8_t epoch = 0;
  std::uint8_t forwards = 0;      ///< of the step that it works on
  std::uint8_t backwards = 0;     ///< of this step; the micro-batches between the two are live
  std::uint8_t live_version = 0;  ///< with which the live ones were computed
  std::uint8_t added = 0;         ///< micro-batches whose gradients are in the sum, a bit each
  std::uint8_t has_sent_sum = 0;
  std::uint8_t has_sent_tied = 0;  ///< by replica of the tied stage, a bit each
  std::uint8_t has_voted = 0;
  std::uint8_t is_stopped = 0;  ///< a mutant's: it has gone on to the next step without a decision

  // On their way to it and from it.
  std::uint8_t is_told = 0;                           ///< the last decision comes
  std::array<std::uint8_t, 2> sums{};                 ///< by edge set: 1 + the step of another replica's sum
  std::array<std::array<std::uint8_t, 2>, 2> tied{};  ///< the same of the tied stage, by edge set and its replica
  std::array<std::uint8_t, 3> votes{};  ///< by epoch: 1 + the step of its vote that the director has not read
  std::uint8_t counted = 0;             ///< 1 + the epoch of its vote that the director has counted
};

/// The edges of an epoch, by stage and replica of the receiver. There are two sets: stages that have not yet heard of
/// an epoch still use those of the one before.
struct edge_set {
  std::array<id_queue, training_copies_max> activations{};
  std::array<id_queue, training_copies_max> gradients{};
};

struct training_moment {
  std::uint8_t loader_next = 0;
  std::uint8_t epoch = 0;
  std::uint8_t deaths = 0;
  std::uint8_t decided = 0;
  std::uint8_t journaled = 0;
  std::uint8_t folded = 0;  ///< scores of the undecided step, a bit each
  std::array<stage_copy, training_copies_max> copies{};
  std::array<edge_set, 2> edges{};
};

/// `copies`: how many of them are in use.
[[nodiscard]] training_state pack(const training_moment& moment, std::size_t copies);
[[nodiscard]] training_moment unpack(const training_state& state, std::size_t copies);
/// Bytes that are in use.
[[nodiscard]] std::size_t packed_size(std::size_t copies);

}  // namespace troupe::testing
