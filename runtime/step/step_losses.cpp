#include "runtime/step/step_losses.hpp"

#include <bit>

namespace troupe {

expected<void> step_losses::fold(const score& next) {
  if (next.words.empty()) return {};
  if (next.words.size() != loss_words) {
    return fail(error_code::metric_failed, "loss", "its score has " + std::to_string(next.words.size()) + " words",
                "run the same version of Troupe everywhere");
  }
  const auto value = [&](loss_word which) {
    return std::bit_cast<double>(next.words[static_cast<std::size_t>(which)]);
  };
  blocks_[next.id.index % replicas_].push_back({value(loss_word::sum), value(loss_word::weight), next.samples});
  return {};
}

step_losses::totals step_losses::add() const {
  totals all;
  for (const auto& block : blocks_) {
    for (const one& each : block) {
      all.loss_sum += each.sum;
      all.weight += each.weight;
      all.samples += each.samples;
      ++all.micro_batches;
    }
  }
  return all;
}

std::vector<std::uint64_t> step_losses::words_of(const totals& all) {
  return {std::bit_cast<std::uint64_t>(all.loss_sum), all.micro_batches, all.samples};
}

std::optional<step_losses::totals> step_losses::totals_of(const step_record& step) {
  if (step.folded.size() != 3) return std::nullopt;
  return totals{.loss_sum = std::bit_cast<double>(step.folded[0]),
                .weight = step.weight,
                .micro_batches = step.folded[1],
                .samples = step.folded[2]};
}

}  // namespace troupe
