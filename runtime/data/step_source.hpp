#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/ledger/micro_batch_source.hpp"
#include "runtime/ledger/step_layout.hpp"

namespace troupe {

/// The micro-batches of one training step, which another source gives in their order, in the order in which they go to
/// the replicas (step_layout). Places without one are micro-batches without samples. With one replica nothing is
/// pulled ahead; with more the whole step is pulled first, since the replicas begin at different places.
class step_source final : public micro_batch_source {
 public:
  /// Those of another source, which ends by itself.
  step_source(std::shared_ptr<micro_batch_source> from, std::uint64_t replicas);

  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override;

 private:
  [[nodiscard]] expected<void> pull_all();

  std::shared_ptr<micro_batch_source> from_;
  std::uint64_t replicas_;
  /// By leaf. Not used with one replica.
  std::optional<std::vector<loaded_micro_batch>> leaves_;
  std::uint64_t next_index_ = 0;
};

}  // namespace troupe
