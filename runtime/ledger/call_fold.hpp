#pragma once

#include "messages/score.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The sum of the scores of one call at one sink. The ledger calls fold() in id order, once per micro-batch, from the
/// folding thread. The call's submitter reads the result after the call is complete.
class call_fold {
 public:
  call_fold() = default;
  call_fold(const call_fold&) = delete;
  call_fold& operator=(const call_fold&) = delete;
  virtual ~call_fold() = default;

  /// After the error E0803 the sum has the score's state, but the journal has not.
  [[nodiscard]] virtual expected<void> fold(const score& next) = 0;
};

}  // namespace troupe
