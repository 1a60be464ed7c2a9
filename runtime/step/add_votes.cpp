#include "runtime/step/add_votes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "messages/try.hpp"

namespace troupe {
namespace {

using stage_votes = std::span<const step_vote>;

/// The votes of each stage.
std::vector<stage_votes> by_stage(stage_votes votes) {
  std::vector<stage_votes> stages;
  while (!votes.empty()) {
    const auto end = std::ranges::find_if(
        votes, [&](const step_vote& each) { return each.address.stage != votes.front().address.stage; });
    const auto count = static_cast<std::size_t>(end - votes.begin());
    stages.push_back(votes.first(count));
    votes = votes.subspan(count);
  }
  return stages;
}

bool is_finite(const step_vote& vote) {
  return !vote.not_finite && std::ranges::all_of(vote.squared_norms, [](double each) { return std::isfinite(each); });
}

/// Two replicas with a gradient that is not finite are alike: which of several NaNs a sum gives is left to the
/// processor.
bool are_alike(const step_vote& a, const step_vote& b) {
  if (is_finite(a) != is_finite(b)) return false;
  const auto same_bits = [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  };
  return !is_finite(a) ||
         (a.state_hash == b.state_hash && std::ranges::equal(a.squared_norms, b.squared_norms, same_bits));
}

std::string place_of(std::uint64_t step, stage_index stage) {
  return "step " + std::to_string(step) + ", stage " + std::to_string(stage);
}

std::string list_of(const std::vector<replica_index>& replicas) {
  std::string text = replicas.size() == 1 ? "replica " : "replicas ";
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    if (i > 0) text += i + 1 == replicas.size() ? " and " : ", ";
    text += std::to_string(replicas[i]);
  }
  return text;
}

expected<void> compare_replicas(std::uint64_t step, stage_votes votes) {
  const auto like = [&](const step_vote& one) {
    return std::ranges::count_if(votes, [&](const step_vote& each) { return are_alike(one, each); });
  };
  const auto most = std::ranges::max_element(votes, {}, like);
  const auto alike = static_cast<std::size_t>(like(*most));
  if (alike == votes.size()) return {};
  const bool is_majority = 2 * alike > votes.size();
  std::vector<replica_index> different;
  std::vector<replica_index> others;
  for (const step_vote& each : votes) {
    (is_majority && are_alike(*most, each) ? others : different).push_back(each.address.replica);
  }
  const std::string cause =
      is_majority ? "the gradient or the weights of " + list_of(different) + " are not those of " + list_of(others)
                  : "the gradients or the weights of " + list_of(different) + " differ";
  return fail(error_code::replicas_differ, place_of(step, votes.front().address.stage), cause,
              "resume from the last checkpoint, without the host of a replica that differs");
}

constexpr const char* not_finite_fix =
    "lower the learning rate, or clip gradients, or look for such values in the samples";

expected<void> refuse_named(std::uint64_t step, stage_votes votes) {
  const auto named = std::ranges::find_if(votes, [](const step_vote& each) { return each.not_finite.has_value(); });
  if (named == votes.end()) return {};
  const std::string place = place_of(step, votes.front().address.stage);
  const error& found = *named->not_finite;
  return fail(error_code::gradient_not_finite, found.where.empty() ? place : place + ", " + found.where, found.cause,
              found.fix.empty() ? not_finite_fix : found.fix);
}

expected<void> refuse_not_finite(std::uint64_t step, stage_votes votes) {
  if (is_finite(votes.front())) return {};
  const std::string place = place_of(step, votes.front().address.stage);
  const auto& squares = votes.front().squared_norms;
  const auto first = std::ranges::find_if(squares, [](double each) { return !std::isfinite(each); });
  return fail(error_code::gradient_not_finite, place,
              "the norm of the gradient of its parameter " + std::to_string(first - squares.begin()) + " is no number",
              not_finite_fix);
}

/// Neighbours first, as the sums of the replicas' gradients are added.
double tree_sum(std::vector<double> values) {
  while (values.size() > 1) {
    std::vector<double> above;
    for (std::size_t i = 0; i < values.size(); i += 2) {
      above.push_back(i + 1 < values.size() ? values[i] + values[i + 1] : values[i]);
    }
    values = std::move(above);
  }
  return values.empty() ? 0 : values.front();
}

double weight_of(stage_votes votes) {
  std::vector<double> weights;
  for (const step_vote& each : votes) weights.push_back(each.weight);
  return tree_sum(std::move(weights));
}

}  // namespace

expected<vote_sums> add_votes(std::uint64_t step, std::span<const step_vote> votes) {
  const auto stages = by_stage(votes);
  for (const stage_votes& stage : stages) TROUPE_TRY(compare_replicas(step, stage));
  vote_sums sums;
  double squares = 0;
  // A stage with a copy of a tied weight has the sums of other stages in its gradient, and no name for what they are.
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) TROUPE_TRY(refuse_named(step, *stage));
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) TROUPE_TRY(refuse_not_finite(step, *stage));
  for (const stage_votes& stage : stages) {
    sums.weight += weight_of(stage);
    for (const double each : stage.front().squared_norms) squares += each;
  }
  if (!std::isfinite(sums.weight) || !std::isfinite(squares)) {
    return fail(error_code::gradient_not_finite, "step " + std::to_string(step),
                std::isfinite(squares) ? "the sum of the weights of its samples is no number"
                                       : "the norm of its gradient is no number",
                "look for values that are not finite among samples and weights of classes");
  }
  if (sums.weight != 0) sums.norm = std::sqrt(squares) / std::abs(sums.weight);
  return sums;
}

double clip_factor(double norm, std::optional<double> norm_max) noexcept {
  constexpr double torch_epsilon = 1e-6;
  return norm_max ? std::min(1.0, *norm_max / (norm + torch_epsilon)) : 1.0;
}

}  // namespace troupe
