#pragma once

#include <optional>
#include <string>

#include "messages/lifecycle.hpp"
#include "runtime/metric/loss.hpp"

namespace troupe {

/// Scores of eval_batch between two processes, where words alone travel (docs/messages.md):
///   the number of the loss's parts, each part;
///   if outputs were asked for: their bytes, and these bytes as tensor_codec writes them, with zeros up to a whole
///   word.

/// The values that a call needs at one of its sinks: the first has them all, the others none.
[[nodiscard]] loss_request request_of(score_content content, std::uint32_t sink) noexcept;

/// In a worker: loss_scorer, with the score packed. E0603 for outputs beyond limits::score_words_max.
class packing_scorer final : public scorer {
 public:
  packing_scorer(loss_function loss, loss_request request, scored_names names = {})
      : inner_(std::move(loss), request, std::move(names)) {}
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation& input, score& into) override;

 private:
  loss_scorer inner_;
};

/// In the driver: makes of a packed score that of loss_scorer. The words are an untrusted peer's: the answer says which
/// of them cannot be true (call_ticket::unpack), and the score has no meaning then.
[[nodiscard]] std::optional<std::string> unpack(score& said, loss_request asked);

}  // namespace troupe
