#include "testing/simulation/hash_training.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "testing/simulation/hash_chain.hpp"

namespace troupe::simulation {
namespace {

payload_ptr payload_of(std::uint64_t value) {
  auto made = std::make_shared<hash_payload>();
  made->add(value);
  return made;
}

class hash_training_body final : public training_body {
 public:
  hash_training_body(forward_surroundings& around, hash_weights& kept, stage_address at, const plan& of)
      : around_(around),
        kept_(kept),
        at_(at),
        of_(of),
        is_last_(at.stage + 1 == of.stages),
        is_tied_(std::ranges::find(of.tied, at.stage) != of.tied.end()) {}

  [[nodiscard]] expected<void> forward(const activation& input, activation& output) override {
    const std::uint64_t word = compute(input, output);
    live_[input.id] = {word, input.row_count()};
    return {};
  }
  [[nodiscard]] expected<void> evaluate(const activation& input, activation& output) override {
    static_cast<void>(compute(input, output));
    return {};
  }

  [[nodiscard]] expected<payload_ptr> backward(micro_batch_id id, const payload_ptr& gradient) override {
    const auto found = live_.find(id);
    if (found == live_.end()) return fail(error_code::internal, "simulation", "a gradient without a forward pass");
    const pass made = found->second;
    live_.erase(found);
    const std::uint64_t given = is_last_ ? made.word : values_of(gradient).values[0];
    sum_ = sum_.value_or(0) + mix(mix(id.index + 1, made.word), given);
    if (is_last_) weight_ += static_cast<double>(made.samples);
    return at_.stage == 0 ? payload_ptr() : payload_of(mix(weights(), given));
  }

  [[nodiscard]] expected<payload_ptr> sum_of_gradients() override { return sum_ ? payload_of(*sum_) : payload_ptr(); }

  [[nodiscard]] expected<payload_ptr> tied_sums() override {
    return sum_ ? payload_of(*sum_ * factor_of(at_.stage)) : payload_ptr();
  }

  [[nodiscard]] expected<void> finish(call_number call, std::span<const payload_ptr> sums,
                                      std::span<const payload_ptr> tied, step_vote& into) override {
    const std::uint64_t total = sums.empty() ? sum_.value_or(0) : total_of(sums);
    kept_.finished = std::nullopt;
    kept_.gradient = total;
    if (is_tied_) kept_.tied_gradient = tied_total(total, tied);
    kept_.finished = call;
    into.weight = weight_;
    into.squared_norms = {static_cast<double>(total % 1000)};
    into.state_hash = mix(mix(kept_.value, total), mix(kept_.tied, kept_.tied_gradient));
    sum_.reset();
    weight_ = 0;
    return {};
  }

  [[nodiscard]] expected<void> apply(const step_decision& decision) override {
    if (kept_.decided && decision.call <= *kept_.decided) return {};
    if (kept_.finished != decision.call) return fail(error_code::training_state_lost, "simulation", "no gradient");
    if (decision.is_applied) {
      const std::uint64_t how = mix(std::bit_cast<std::uint64_t>(decision.gradient_scale),
                                    std::bit_cast<std::uint64_t>(decision.learning_rate));
      kept_.value = mix(kept_.value, mix(kept_.gradient, how));
      if (is_tied_) kept_.tied = mix(kept_.tied, mix(kept_.tied_gradient, how));
    }
    kept_.decided = decision.call;
    return {};
  }

  void drop() noexcept override {
    live_.clear();
    sum_.reset();
    weight_ = 0;
  }

 private:
  struct pass {
    std::uint64_t word = 0;
    std::uint64_t samples = 0;
  };

  [[nodiscard]] std::uint64_t weights() const { return is_tied_ ? mix(kept_.value, kept_.tied) : kept_.value; }
  /// So that the sums of places are not alike.
  static std::uint64_t factor_of(stage_index stage) { return 2 * std::uint64_t{stage} + 3; }
  static std::uint64_t total_of(std::span<const payload_ptr> sums) {
    std::uint64_t total = 0;
    for (const payload_ptr& each : sums) total += each ? values_of(each).values[0] : 0;
    return total;
  }

  /// Over the tied stages in their order. `tied` has those of the others.
  [[nodiscard]] std::uint64_t tied_total(std::uint64_t own, std::span<const payload_ptr> tied) const {
    const body_harm harm = of_.harmed_node == at_.stage ? of_.harm : body_harm::none;
    std::uint64_t all = 0;
    for (const std::uint32_t stage : of_.tied) {
      if (stage == at_.stage) {
        all = mix(all, own * factor_of(stage));
        continue;
      }
      std::uint64_t total = total_of(tied.first(of_.replicas));
      tied = tied.subspan(of_.replicas);
      if (harm == body_harm::forgets_a_tied_sum) total = 0;
      if (harm == body_harm::adds_a_tied_sum_twice) total *= 2;
      all = mix(all, total);
    }
    return all;
  }

  std::uint64_t compute(const activation& input, activation& output) {
    around_.begin_forward(at_.stage, input.id);
    auto made = std::make_shared<hash_payload>();
    const hash_payload& given = values_of(input.tensors);
    for (std::size_t row = 0; row < given.count; ++row) {
      made->add(mix(mix(weights(), mix(given.values.at(row), 0)), 0));
    }
    const std::size_t samples = given.count;
    output.tensors = std::move(made);
    const std::uint64_t word = mix(0, word_of(output, output.tensors));
    around_.end_forward(input.id, word, samples);
    return word;
  }

  forward_surroundings& around_;
  hash_weights& kept_;
  const stage_address at_;
  const plan& of_;
  const bool is_last_;
  const bool is_tied_;
  std::map<micro_batch_id, pass> live_;
  std::optional<std::uint64_t> sum_;
  double weight_ = 0;
};

}  // namespace

std::shared_ptr<training_body> make_hash_training_body(forward_surroundings& around, hash_weights& kept,
                                                       stage_address at, const plan& of) {
  return std::make_shared<hash_training_body>(around, kept, at, of);
}

}  // namespace troupe::simulation
