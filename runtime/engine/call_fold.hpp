#pragma once

#include "messages/error.hpp"
#include "messages/score.hpp"

namespace troupe {

/// What a sink of one call makes of its scores. The ledger calls it in id order, each micro-batch exactly once, from
/// the thread that folds; whoever submitted the call reads it after the call is complete.
class call_fold {
 public:
  call_fold() = default;
  call_fold(const call_fold&) = delete;
  call_fold& operator=(const call_fold&) = delete;
  virtual ~call_fold() = default;

  [[nodiscard]] virtual expected<void> fold(const score& next) = 0;
};

}  // namespace troupe
