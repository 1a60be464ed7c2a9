#include "timed_call.hpp"

#include <algorithm>

namespace troupe::bench {
namespace {

class noting_fold final : public call_fold {
 public:
  noting_fold(std::shared_ptr<call_fold> inner, std::shared_ptr<fold_log> log)
      : inner_(std::move(inner)), log_(std::move(log)) {}
  [[nodiscard]] expected<void> fold(const score& next) override {
    auto folded = inner_->fold(next);
    log_->note();
    return folded;
  }

 private:
  const std::shared_ptr<call_fold> inner_;
  const std::shared_ptr<fold_log> log_;
};

}  // namespace

void fold_log::note() {
  const std::lock_guard lock{mutex_};
  times_.push_back(steady_now());
}

std::size_t fold_log::count() const {
  const std::lock_guard lock{mutex_};
  return times_.size();
}

std::optional<std::chrono::nanoseconds> fold_log::first_after(std::chrono::nanoseconds when) const {
  const std::lock_guard lock{mutex_};
  const auto found = std::ranges::upper_bound(times_, when);
  return found == times_.end() ? std::nullopt : std::optional(*found);
}

std::chrono::nanoseconds fold_log::longest_gap() const {
  const std::lock_guard lock{mutex_};
  std::chrono::nanoseconds longest{0};
  for (std::size_t i = 1; i < times_.size(); ++i) longest = std::max(longest, times_[i] - times_[i - 1]);
  return longest;
}

timed_call::timed_call(std::unique_ptr<evaluation> call, running_topology& running) : call_(std::move(call)) {
  for (auto& each : call_->ticket()->folds) each = std::make_shared<noting_fold>(each, folds_);
  outcome_ = running.submit(call_->ticket());
}

bool timed_call::ended() const {
  return outcome_.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
}

expected<run_result> timed_call::result() {
  const call_outcome outcome = outcome_.get();
  if (outcome.cause) return tl::make_unexpected(*outcome.cause);
  return call_->result(outcome);
}

}  // namespace troupe::bench
