#include "tests/processes/killer.hpp"

#include <algorithm>
#include <csignal>

namespace troupe::testing {
namespace {

constexpr int longest_pause_ms = 200;
/// Of the journal: kills come before it, so that the last ones meet workers that still have something to do.
constexpr double share_with_kills = 0.9;

}  // namespace

killer::killer(marked_run& run, std::uint64_t seed, std::uintmax_t whole, int kills)
    : run_(run), random_(seed), whole_(whole), kills_(kills) {
  next_share_ = share_with_kills * std::uniform_real_distribution<>{0, 1.0 / kills_}(random_);
}

bool killer::is_due(std::uintmax_t size) const {
  if (again_at_) return clock::now() >= *again_at_;
  return size > size_before_ && static_cast<double>(size) >= next_share_ * static_cast<double>(whole_);
}

void killer::tick() {
  const std::uintmax_t size = run_.size_of(journal);
  if (done_ == kills_ || !is_due(size)) return;
  const int before = done_;
  kill_one();
  if (done_ == before) return;
  const bool was_second = again_at_.has_value();
  again_at_.reset();
  size_before_ = size;
  next_share_ = share_with_kills * (done_ + std::uniform_real_distribution<>{0, 0.95}(random_)) / kills_;
  if (was_second || random_() % 2 == 0) return;
  again_at_ = clock::now() + std::chrono::milliseconds{random_() % longest_pause_ms};
}

void killer::kill_one() {
  const std::vector<pid_t> workers = run_.workers();
  if (workers.empty()) return;
  const pid_t victim = workers[random_() % workers.size()];
  const auto fresh = [this](pid_t one) { return !known_.contains(one) && !known_.empty(); };
  // Progress without others: one of them works.
  if (std::ranges::all_of(workers, fresh) && !again_at_) fresh_in_a_row_ = 0;
  const bool is_fresh = fresh(victim);
  // The one more is left out: with only fresh workers there, it would be waited for until the end.
  if (is_fresh && fresh_in_a_row_ == 2) return again_at_.reset();
  if (::kill(victim, SIGKILL) != 0) return;
  fresh_in_a_row_ = is_fresh ? fresh_in_a_row_ + 1 : 0;
  known_.insert(workers.begin(), workers.end());
  ++done_;
}

}  // namespace troupe::testing
