#pragma once

#include <memory>
#include <utility>

#include "messages/try.hpp"
#include "runtime/journal/journal_tail.hpp"
#include "runtime/ledger/call_fold.hpp"

namespace troupe {

/// Folds, and then appends what was folded to the journal: the file holds nothing but folded states, in fold order. A
/// journal that cannot be written (E0803) fails the fold, and so its call.
class journaling_fold final : public call_fold {
 public:
  journaling_fold(std::shared_ptr<call_fold> inner, std::shared_ptr<journal_appender> journal)
      : inner_(std::move(inner)), journal_(std::move(journal)) {}

  [[nodiscard]] expected<void> fold(const score& next) override {
    TROUPE_TRY(inner_->fold(next));
    return journal_->append(next);
  }

 private:
  std::shared_ptr<call_fold> inner_;
  std::shared_ptr<journal_appender> journal_;
};

}  // namespace troupe
