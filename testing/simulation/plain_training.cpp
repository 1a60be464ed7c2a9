#include "testing/simulation/plain_training.hpp"

#include <bit>
#include <utility>

namespace troupe::simulation {
plain_training::plain_training(std::uint32_t stages, std::vector<std::uint32_t> tied, std::vector<std::uint64_t> calls,
                               const std::set<std::uint64_t>& decided)
    : tied_(std::move(tied)), calls_(std::move(calls)) {
  for (std::uint64_t stage = 0; stage < stages; ++stage) own_.push_back(stage + 1);
  weights_.push_back(with_shared());
  for (std::uint64_t call = 0; call < calls_.size(); ++call) {
    weights_.push_back(weights_.back());
    if (decided.contains(call)) train(call);
  }
}

std::optional<plain_training::decision> plain_training::decision_of(std::uint64_t call) const {
  const auto found = decisions_.find(call);
  return found == decisions_.end() ? std::nullopt : std::optional(found->second);
}

/// Over the outputs of each stage.
std::vector<std::uint64_t> plain_training::words_of(std::uint64_t call, std::uint64_t index) const {
  std::vector<std::uint64_t> rows;
  for (std::uint64_t row = 0; row < 1 + index % 3; ++row) {
    rows.push_back(stirred(stirred(call + 1, index + 1), row));
  }
  std::vector<std::uint64_t> words;
  for (const std::uint64_t weights : weights_[call]) {
    std::uint64_t word = index * 4;
    for (std::uint64_t row = 0; row < rows.size(); ++row) {
      rows[row] = stirred(stirred(weights, stirred(rows[row], 0)), 0);
      word = stirred(word, stirred(row, rows[row]));
    }
    words.push_back(stirred(0, word));
  }
  return words;
}

void plain_training::train(std::uint64_t call) {
  const std::vector<std::uint64_t>& before = weights_[call];
  std::vector<std::uint64_t> gradients(before.size());
  std::uint64_t samples = 0;
  for (std::uint64_t index = 0; index < calls_[call]; ++index) {
    samples += 1 + index % 3;
    const auto words = words_of(call, index);
    std::uint64_t given = words.back();
    for (std::size_t stage = before.size(); stage-- > 0;) {
      gradients[stage] += stirred(stirred(index + 1, words[stage]), given);
      given = stirred(before[stage], given);
    }
  }
  decision& made = decisions_[call];
  made = {.is_applied = samples > 0, .step = steps_, .scale = 0, .rate = 1.0 / static_cast<double>(1 + steps_)};
  if (!made.is_applied) return;
  ++steps_;
  made.scale = 1.0 / static_cast<double>(samples);
  const std::uint64_t how = stirred(std::bit_cast<std::uint64_t>(made.scale), std::bit_cast<std::uint64_t>(made.rate));
  std::uint64_t of_shared = 0;
  for (const std::uint32_t stage : tied_) of_shared = stirred(of_shared, gradients[stage] * (2 * stage + 3));
  if (!tied_.empty()) shared_ = stirred(shared_, stirred(of_shared, how));
  for (std::size_t stage = 0; stage < own_.size(); ++stage)
    own_[stage] = stirred(own_[stage], stirred(gradients[stage], how));
  weights_[call + 1] = with_shared();
}

std::vector<std::uint64_t> plain_training::with_shared() const {
  std::vector<std::uint64_t> all = own_;
  for (const std::uint32_t stage : tied_) all[stage] = stirred(own_[stage], shared_);
  return all;
}

}  // namespace troupe::simulation
