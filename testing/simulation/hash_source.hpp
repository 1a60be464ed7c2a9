#pragma once

#include <memory>

#include "runtime/ledger/micro_batch_source.hpp"
#include "testing/simulation/hash_chain.hpp"
#include "testing/simulation/plan.hpp"

namespace troupe::simulation {

/// The data of one call in a simulation. The micro-batch with a given index always has the same rows, which are
/// computed from the call and the index, so that a test can compute the expected results on its own. The plan outlives
/// it.
class hash_source final : public micro_batch_source {
 public:
  hash_source(const plan& of, std::uint64_t call, std::uint64_t first) : plan_(of), call_(call), position_(first) {}

  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    if (position_ == plan_.calls[call_]) return std::nullopt;
    return made(position_++, 0);
  }
  [[nodiscard]] bool is_rereadable() const noexcept override { return plan_.is_rereadable; }
  [[nodiscard]] expected<loaded_micro_batch> reread(std::uint64_t index) override {
    return made(index, plan_.broken == mutant::same_data_again ? 1 : 0);
  }

 private:
  /// `difference` is not 0 only where the plan wants to see that wrong data is found: the rows are other ones then.
  [[nodiscard]] loaded_micro_batch made(std::uint64_t index, std::uint64_t difference) const {
    auto rows = std::make_shared<hash_payload>();
    while (rows->count < samples_of(index)) rows->add(mix(input_value(call_, index) + difference, rows->count));
    const std::uint64_t bytes = plan_.micro_batch_bytes == 0 ? rows->bytes() : plan_.micro_batch_bytes;
    const std::uint64_t first = first_sample_of(index);
    return {{first, first + rows->count}, std::move(rows), nullptr, bytes};
  }

  const plan& plan_;
  const std::uint64_t call_;
  std::uint64_t position_;
};

}  // namespace troupe::simulation
