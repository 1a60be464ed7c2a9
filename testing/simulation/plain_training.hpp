#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "testing/simulation/plain_evaluation.hpp"

namespace troupe::simulation {

/// What must come out of a chain that trains: a plain loop, which shares no code with what it judges. The weights of a
/// stage are a number, at first that of the stage plus one.
///
///   forward    as plain_evaluation, with the weights in place of the node's number plus one
///   backward   the last stage is given its own word over the outputs; a stage hands on its weights stirred with what
///              it is given, and adds index + 1, stirred with its word and then with what it is given, to the gradient
///   ties       stages that share a weight, at first 4711, stir it into their weights wherever these are used. Its
///              gradient begins with 0, into which the gradient of each of them, times 2 * stage + 3, is stirred
///   update     stirs the gradient, and factor and rate as their bits, into the weights; the factor is 1 over the
///              samples of the step, the rate 1 over the number of the step, from 1 on
class plain_training {
 public:
  struct decision {
    bool is_applied = false;
    std::uint64_t step = 0;
    double scale = 0;
    double rate = 0;
    friend bool operator==(const decision&, const decision&) = default;
  };

  /// `tied`: stages that share a weight, ascending. `calls`: micro-batches of each. `decided`: the calls that are steps
  /// and were decided; other calls change nothing.
  plain_training(std::uint32_t stages, std::vector<std::uint32_t> tied, std::vector<std::uint64_t> calls,
                 const std::set<std::uint64_t>& decided);

  /// While the call is computed.
  [[nodiscard]] const std::vector<std::uint64_t>& weights_in(std::uint64_t call) const { return weights_.at(call); }
  [[nodiscard]] std::optional<decision> decision_of(std::uint64_t call) const;

 private:
  void train(std::uint64_t call);
  [[nodiscard]] std::vector<std::uint64_t> words_of(std::uint64_t call, std::uint64_t index) const;

  [[nodiscard]] std::vector<std::uint64_t> with_shared() const;

  const std::vector<std::uint32_t> tied_;
  const std::vector<std::uint64_t> calls_;
  /// By stage, its own, and the shared one, as they are now.
  std::vector<std::uint64_t> own_;
  std::uint64_t shared_ = 4711;
  /// By call, and behind the last one, and by stage.
  std::vector<std::vector<std::uint64_t>> weights_;
  std::map<std::uint64_t, decision> decisions_;
  std::uint64_t steps_ = 0;
};

}  // namespace troupe::simulation
