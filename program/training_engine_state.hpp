#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "actors/call_ticket.hpp"
#include <troupe/training_engine.hpp>

namespace troupe {

class step_losses;
class step_source;

struct training_engine::impl {
  std::shared_ptr<const training_options> training;
  /// What runs the stages, and evaluates between steps.
  std::unique_ptr<pipeline_engine> engine;
  /// Carried out.
  std::uint64_t steps = 0;
  /// The call of the last decision.
  std::optional<call_number> decided = std::nullopt;

  [[nodiscard]] call_ticket_ptr make_ticket(const std::shared_ptr<step_source>& source,
                                            const std::shared_ptr<step_losses>& losses) const;
  /// Until the step is decided.
  [[nodiscard]] expected<call_outcome> run(const std::shared_ptr<step_source>& source,
                                           const std::shared_ptr<step_losses>& losses);
};

}  // namespace troupe
