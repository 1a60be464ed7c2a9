#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/data/iterator_source.hpp"
#include "runtime/ledger/step_layout.hpp"

namespace troupe {

/// The micro-batches of one training step, of which an iterator gives up to `micro_batches`, in the order in which they
/// go to the replicas (step_layout). Places without one are micro-batches without samples. With one replica nothing is
/// pulled ahead; with more the whole step is pulled first, since the replicas begin at different places.
class step_source final : public micro_batch_source {
 public:
  /// Otherwise as iterator_source.
  step_source(data_iterator iterator, batch_function transform, std::uint64_t micro_batches, std::uint64_t replicas,
              bool is_constant = false);

  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override;
  /// The iterator ended early. From any thread.
  [[nodiscard]] bool exhausted() const noexcept { return from_.exhausted(); }

 private:
  [[nodiscard]] expected<void> pull_all();

  iterator_source from_;
  std::uint64_t replicas_;
  /// By leaf. Not used with one replica.
  std::optional<std::vector<loaded_micro_batch>> leaves_;
  std::uint64_t next_index_ = 0;
};

}  // namespace troupe
