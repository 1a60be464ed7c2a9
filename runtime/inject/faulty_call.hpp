#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "messages/try.hpp"
#include "runtime/journal/journal_tail.hpp"
#include "runtime/ledger/call_fold.hpp"
#include "runtime/ledger/micro_batch_source.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe {

/// A source that tells of each micro-batch before the loader gets it: on the loader's thread.
class watched_source final : public micro_batch_source {
 public:
  /// `first`: index of the micro-batch that next() gives first.
  watched_source(std::shared_ptr<micro_batch_source> inner, std::uint64_t first,
                 std::function<void(std::uint64_t index)> on_loaded)
      : inner_(std::move(inner)), next_(first), on_loaded_(std::move(on_loaded)) {}

  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    auto loaded = inner_->next();
    if (loaded && *loaded) on_loaded_(next_++);
    return loaded;
  }
  [[nodiscard]] bool is_rereadable() const noexcept override { return inner_->is_rereadable(); }
  [[nodiscard]] expected<loaded_micro_batch> reread(std::uint64_t index) override { return inner_->reread(index); }
  [[nodiscard]] std::optional<std::uint64_t> count() const override { return inner_->count(); }

 private:
  std::shared_ptr<micro_batch_source> inner_;
  std::uint64_t next_;
  std::function<void(std::uint64_t)> on_loaded_;
};

/// A fold that tells of each micro-batch after it was folded: on the folding thread.
class watched_fold final : public call_fold {
 public:
  watched_fold(std::shared_ptr<call_fold> inner, std::function<void(micro_batch_id id)> on_folded)
      : inner_(std::move(inner)), on_folded_(std::move(on_folded)) {}

  [[nodiscard]] expected<void> fold(const score& next) override {
    auto folded = inner_->fold(next);
    if (folded) on_folded_(next.id);
    return folded;
  }

 private:
  std::shared_ptr<call_fold> inner_;
  std::function<void(micro_batch_id)> on_folded_;
};

/// A journal of steps that tells of each decision before and after it is kept: on the deciding thread.
class watched_decisions final : public journal_appender {
 public:
  /// vote: all votes are there. decision: it is kept, and no stage has been told.
  using moment_function = std::function<void(fault_trigger_kind moment, const step_decision& decision)>;

  /// `inner`: null where nothing is kept.
  watched_decisions(std::shared_ptr<journal_appender> inner, moment_function on_moment)
      : inner_(std::move(inner)), on_moment_(std::move(on_moment)) {}

  [[nodiscard]] expected<void> append(const score& state) override {
    return inner_ ? inner_->append(state) : expected<void>();
  }
  [[nodiscard]] expected<void> append(const step_record& step) override {
    on_moment_(fault_trigger_kind::vote, step.decision);
    if (inner_) TROUPE_TRY(inner_->append(step));
    on_moment_(fault_trigger_kind::decision, step.decision);
    return {};
  }

 private:
  std::shared_ptr<journal_appender> inner_;
  moment_function on_moment_;
};

}  // namespace troupe
