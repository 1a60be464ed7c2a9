#include "runtime/step/step_ledger.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/step/add_votes.hpp"

namespace troupe {
namespace {

tl::unexpected<error> refused(const step_vote& vote, const std::string& cause) {
  return fail(error_code::worker_mismatch,
              "stage " + std::to_string(vote.address.stage) + ", replica " + std::to_string(vote.address.replica),
              "its vote about call " + std::to_string(vote.call) + " " + cause,
              "start the run again, with the same program and files on all nodes");
}

}  // namespace

step_ledger::step_ledger(std::vector<stage_address> voters, step_policy policy,
                         std::shared_ptr<journal_appender> journal, step_replay earlier)
    : voters_(std::move(voters)),
      policy_(std::move(policy)),
      journal_(std::move(journal)),
      earlier_(std::move(earlier)) {
  std::ranges::sort(voters_);
  TROUPE_CHECK(!voters_.empty() && std::ranges::adjacent_find(voters_) == voters_.end(),
               "a training has stages, and each replica votes once");
  TROUPE_CHECK(policy_.learning_rate, "every step has a learning rate");
  TROUPE_CHECK(!policy_.clip_norm || *policy_.clip_norm > 0, "options are checked before");
}

void step_ledger::keep(std::shared_ptr<journal_appender> journal, step_replay earlier) {
  TROUPE_CHECK(next_to_begin_ == 0, "a journal has all decisions of a run");
  journal_ = std::move(journal);
  earlier_ = std::move(earlier);
}

void step_ledger::begin(call_number call) {
  TROUPE_CHECK(call >= next_to_begin_, "calls begin in order");
  next_to_begin_ = call + 1;
  undecided_[call].resize(voters_.size());
}

void step_ledger::begin_epoch(epoch_number epoch) {
  if (epoch <= epoch_) return;
  epoch_ = epoch;
  for (auto& [call, given] : undecided_) std::ranges::fill(given, std::nullopt);
}

expected<step_ledger::verdict> step_ledger::vote(step_vote next) {
  const auto voter = std::ranges::lower_bound(voters_, next.address);
  if (voter == voters_.end() || *voter != next.address) return refused(next, "is of a stage that does not train");
  if (next.epoch > epoch_) {
    return refused(next,
                   "is of epoch " + std::to_string(next.epoch) + ", the present one is " + std::to_string(epoch_));
  }
  if (next.call >= next_to_begin_) return refused(next, "comes before the call");
  const auto call = undecided_.find(next.call);
  if (next.epoch < epoch_ || call == undecided_.end()) return verdict::stale;
  const auto [known, is_first] = parameters_.try_emplace(next.address.stage, next.squared_norms.size());
  if (next.squared_norms.size() != known->second) {
    return refused(next, "has " + std::to_string(next.squared_norms.size()) + " parameters, its stage had " +
                             std::to_string(known->second));
  }
  std::optional<step_vote>& place = call->second[static_cast<std::size_t>(voter - voters_.begin())];
  if (place) return verdict::duplicate;
  place = std::move(next);
  return verdict::counted;
}

bool step_ledger::lacks_work(call_number call, std::uint64_t micro_batches) const {
  const auto found = undecided_.find(call);
  if (found == undecided_.end()) return false;
  std::map<stage_index, std::uint64_t> seen;
  for (const auto& vote : found->second) {
    if (!vote) return false;
    seen[vote->address.stage] += vote->micro_batches;
  }
  return std::ranges::any_of(seen, [&](const auto& stage) { return stage.second != micro_batches; });
}

expected<std::optional<step_record>> step_ledger::decide(call_number call, std::vector<std::uint64_t> folded) {
  const auto first = undecided_.begin();
  if (first == undecided_.end() || first->first != call) return std::nullopt;
  if (!std::ranges::all_of(first->second, [](const auto& vote) { return vote.has_value(); })) return std::nullopt;
  const votes given = std::move(first->second);
  undecided_.erase(first);
  auto made = TROUPE_TRY(make_decision(given, std::move(folded)));
  TROUPE_TRY(write(made));
  last_ = std::move(made);
  return last_;
}

expected<step_record> step_ledger::make_decision(const votes& given, std::vector<std::uint64_t> folded) {
  step_record made;
  made.number = last_ ? last_->number + 1 : policy_.first_number;
  made.folded = std::move(folded);
  step_decision& decision = made.decision;
  decision.call = given.front()->call;
  decision.step = policy_.first_step;
  if (last_) decision.step = last_->decision.step + (last_->decision.is_applied ? 1 : 0);
  std::vector<step_vote> all;
  for (const auto& each : given) all.push_back(*each);
  const vote_sums sums = TROUPE_TRY(add_votes(decision.step, all));
  made.weight = sums.weight;
  made.norm = sums.norm;
  decision.is_applied = sums.weight != 0;
  decision.gradient_scale = decision.is_applied ? clip_factor(sums.norm, policy_.clip_norm) / sums.weight : 0;
  decision.learning_rate = TROUPE_TRY(rate_of(decision.step));
  return made;
}

expected<double> step_ledger::rate_of(std::uint64_t step) const {
  std::string cause;
  try {
    const double rate = policy_.learning_rate(step);
    if (std::isfinite(rate)) return rate;
    cause = "it is " + std::to_string(rate);
  } catch (...) {
    cause = "its function threw: " + current_exception_text();
  }
  return fail(error_code::value_out_of_range, "learning rate, step " + std::to_string(step), std::move(cause),
              "let training_options::learning_rate give a finite number for each step");
}

expected<void> step_ledger::write(const step_record& made) {
  const bool is_there = TROUPE_TRY(earlier_.take(made));
  if (is_there || journal_ == nullptr) return {};
  return journal_->append(made);
}

std::optional<call_number> step_ledger::first_undecided() const {
  return undecided_.empty() ? std::nullopt : std::optional(undecided_.begin()->first);
}

void step_ledger::cancel(call_number call) {
  undecided_.erase(call);
}

}  // namespace troupe
