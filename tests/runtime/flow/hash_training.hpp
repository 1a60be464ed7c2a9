// What the tests of training compute with in place of tensors: numbers in which every mistake shows. A weight that is
// too old, a gradient that is added twice, in another order or at another replica, and a missing micro-batch change all
// numbers that follow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "runtime/flow/stage_body.hpp"
#include "runtime/flow/training_body.hpp"

namespace troupe::testing {

using word = std::uint64_t;

constexpr word mix(word a, word b) noexcept {
  word x = a * 0x9e3779b97f4a7c15ULL + b + 0x7f4a7c15;
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 29);
}

struct number final : payload {
  explicit number(word of) : value(of) {}
  word value;
};
inline payload_ptr boxed(word value) {
  return std::make_shared<const number>(value);
}
inline word value_of(const payload_ptr& boxed_value) {
  return dynamic_cast<const number&>(*boxed_value).value;
}

inline word input_of(micro_batch_id id) {
  return mix(id.call + 1, id.index + 1);
}
inline word first_weights(stage_index stage) {
  return mix(4711, stage);
}

/// The formulas of a stage.
namespace formula {
constexpr word forward(word weights, word input) {
  return mix(weights, input);
}
constexpr word loss_gradient(word output) {
  return mix(output, 77);
}
constexpr word weight_gradient(word weights, word input, word gradient) {
  return mix(forward(weights, input), gradient);
}
constexpr word input_gradient(word weights, word input, word gradient) {
  return mix(gradient, forward(weights, input) + 1);
}
/// `sums`: of all replicas; nothing where one has had no micro-batch.
inline word gradient(const std::vector<std::optional<word>>& sums) {
  word all = 1;
  for (const auto& each : sums) all = mix(all, each ? mix(*each, 5) : 3);
  return all;
}
/// That of a stage with ties: `tied` has the sums of one other stage, as `sums` above.
inline word with_tied(word all, const std::vector<std::optional<word>>& tied) {
  return mix(mix(all, 21), gradient(tied));
}
constexpr word tied_sum(word sum) {
  return mix(sum, 13);
}
constexpr word updated(word weights, word gradient, std::uint64_t step) {
  return mix(weights, mix(gradient, step));
}
}  // namespace formula

/// The memory of a stage, which outlives its body.
struct stage_memory {
  word weights = 0;
  std::optional<call_number> finished;
  word gradient = 0;
  std::optional<call_number> decided;
};

/// Checks what training_body.hpp promises to a body.
class hash_training_body final : public training_body {
 public:
  hash_training_body(std::shared_ptr<stage_memory> memory, bool is_last)
      : memory_(std::move(memory)), is_last_(is_last) {}

  [[nodiscard]] expected<void> forward(const activation& input, activation& output) override {
    if (on_forward) on_forward(input.id);
    const word value = value_of(input.tensors);
    kept_.push_back({input.id, value});
    most_kept = std::max(most_kept, kept_.size());
    output.tensors = boxed(formula::forward(memory_->weights, value));
    return {};
  }
  [[nodiscard]] expected<void> evaluate(const activation& input, activation& output) override {
    if (on_forward) on_forward(input.id);
    output.tensors = boxed(formula::forward(memory_->weights, value_of(input.tensors)));
    return {};
  }
  [[nodiscard]] expected<payload_ptr> backward(micro_batch_id id, const payload_ptr& gradient) override {
    if (on_backward) on_backward(id);
    if (kept_.empty() || kept_.front().id != id) throw std::logic_error("it is not the oldest micro-batch");
    if ((gradient == nullptr) != is_last_) throw std::logic_error("a gradient is missing, or one too many");
    const word input = kept_.front().input;
    kept_.pop_front();
    const word from = is_last_ ? formula::loss_gradient(formula::forward(memory_->weights, input)) : value_of(gradient);
    sum_ = mix(sum_.value_or(9), formula::weight_gradient(memory_->weights, input, from));
    return boxed(formula::input_gradient(memory_->weights, input, from));
  }
  [[nodiscard]] expected<payload_ptr> sum_of_gradients() override {
    if (on_end) on_end("sum");
    return sum_ ? boxed(*sum_) : nullptr;
  }
  [[nodiscard]] expected<payload_ptr> tied_sums() override {
    if (on_end) on_end("tied");
    return sum_ ? boxed(formula::tied_sum(*sum_)) : nullptr;
  }
  [[nodiscard]] expected<void> finish(call_number call, std::span<const payload_ptr> sums,
                                      std::span<const payload_ptr> tied, step_vote& into) override {
    if (on_end) on_end("finish");
    if (!kept_.empty()) throw std::logic_error("a backward pass is missing");
    std::vector<std::optional<word>> all = values_of(sums);
    if (all.empty()) all.push_back(sum_);
    memory_->gradient = formula::gradient(all);
    for (std::size_t first = 0; first < tied.size(); first += all.size())
      memory_->gradient = formula::with_tied(memory_->gradient, values_of(tied.subspan(first, all.size())));
    memory_->finished = call;
    sum_.reset();
    into.state_hash = mix(memory_->weights, memory_->gradient);
    return {};
  }
  [[nodiscard]] expected<void> apply(const step_decision& decision) override {
    if (on_end) on_end("apply");
    if (memory_->decided && decision.call <= *memory_->decided) return {};
    if (memory_->finished != decision.call) return fail(error_code::training_state_lost, "hash", "no gradient");
    if (decision.is_applied) memory_->weights = formula::updated(memory_->weights, memory_->gradient, decision.step);
    memory_->decided = decision.call;
    return {};
  }
  void drop() noexcept override {
    ++drops;
    kept_.clear();
    sum_.reset();
  }

  // They may throw.
  std::function<void(micro_batch_id)> on_forward;
  std::function<void(micro_batch_id)> on_backward;
  std::function<void(const char*)> on_end;
  std::size_t most_kept = 0;
  int drops = 0;

 private:
  static std::vector<std::optional<word>> values_of(std::span<const payload_ptr> sums) {
    std::vector<std::optional<word>> all;
    for (const payload_ptr& each : sums) all.push_back(each ? std::optional(value_of(each)) : std::nullopt);
    return all;
  }

  struct kept {
    micro_batch_id id;
    word input;
  };
  std::shared_ptr<stage_memory> memory_;
  bool is_last_;
  std::deque<kept> kept_;
  std::optional<word> sum_;
};

struct hash_output_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation&, score& into) override {
    into.words = {value_of(outputs)};
    return {};
  }
};

/// A run: its calls in order.
struct planned_call {
  bool trains = true;
  std::uint64_t micro_batches = 0;
  /// Indices of empty parts.
  std::vector<std::uint64_t> empty = {};
  /// The decision: weights stay as they are.
  bool is_skipped = false;
  /// The plain loop leaves it out.
  bool is_cancelled = false;

  [[nodiscard]] bool is_empty(std::uint64_t index) const { return std::ranges::find(empty, index) != empty.end(); }
};

/// What a run must give: by id the score, nothing for an empty part; and the weights of all stages at the end.
struct training_outcome {
  std::map<micro_batch_id, std::optional<word>> scores;
  std::vector<word> weights;
  friend bool operator==(const training_outcome&, const training_outcome&) = default;
};

/// A plain loop, without engines. `tied`: stages that share weights, ascending.
inline training_outcome plain_training(std::uint32_t stages, std::uint32_t replicas,
                                       const std::vector<planned_call>& calls,
                                       const std::vector<stage_index>& tied = {}) {
  training_outcome all;
  for (stage_index stage = 0; stage < stages; ++stage) all.weights.push_back(first_weights(stage));
  std::uint64_t step = 0;
  for (call_number call = 0; call < calls.size(); ++call) {
    if (calls[call].is_cancelled) continue;
    std::vector<std::vector<std::optional<word>>> sums(stages, std::vector<std::optional<word>>(replicas));
    for (std::uint64_t index = 0; index < calls[call].micro_batches; ++index) {
      const micro_batch_id id{call, index};
      if (calls[call].is_empty(index)) {
        all.scores[id] = std::nullopt;
        continue;
      }
      std::vector<word> inputs{input_of(id)};
      for (const word weights : all.weights) inputs.push_back(formula::forward(weights, inputs.back()));
      all.scores[id] = inputs.back();
      if (!calls[call].trains) continue;
      word gradient = formula::loss_gradient(inputs.back());
      for (stage_index stage = stages; stage-- > 0;) {
        auto& sum = sums[stage][index % replicas];
        sum = mix(sum.value_or(9), formula::weight_gradient(all.weights[stage], inputs[stage], gradient));
        gradient = formula::input_gradient(all.weights[stage], inputs[stage], gradient);
      }
    }
    if (!calls[call].trains) continue;
    for (stage_index stage = 0; stage < stages && !calls[call].is_skipped; ++stage) {
      word gradient = formula::gradient(sums[stage]);
      for (const stage_index other : tied) {
        if (other == stage || std::ranges::find(tied, stage) == tied.end()) continue;
        std::vector<std::optional<word>> sent = sums[other];
        for (auto& each : sent) each = each ? std::optional(formula::tied_sum(*each)) : std::nullopt;
        gradient = formula::with_tied(gradient, sent);
      }
      all.weights[stage] = formula::updated(all.weights[stage], gradient, step);
    }
    ++step;
  }
  return all;
}

}  // namespace troupe::testing
