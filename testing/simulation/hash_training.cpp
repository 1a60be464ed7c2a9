#include "testing/simulation/hash_training.hpp"

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
  hash_training_body(forward_surroundings& around, hash_weights& kept, stage_address at, std::uint32_t stages)
      : around_(around), kept_(kept), at_(at), is_last_(at.stage + 1 == stages) {}

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
    return at_.stage == 0 ? payload_ptr() : payload_of(mix(kept_.value, given));
  }

  [[nodiscard]] expected<payload_ptr> sum_of_gradients() override { return sum_ ? payload_of(*sum_) : payload_ptr(); }

  [[nodiscard]] expected<void> finish(call_number call, std::span<const payload_ptr> sums, step_vote& into) override {
    std::uint64_t total = sums.empty() ? sum_.value_or(0) : 0;
    for (const payload_ptr& each : sums) total += each ? values_of(each).values[0] : 0;
    kept_.finished = std::nullopt;
    kept_.gradient = total;
    kept_.finished = call;
    into.weight = weight_;
    into.squared_norms = {static_cast<double>(total % 1000)};
    into.state_hash = mix(kept_.value, total);
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

  std::uint64_t compute(const activation& input, activation& output) {
    around_.begin_forward(at_.stage, input.id);
    auto made = std::make_shared<hash_payload>();
    const hash_payload& given = values_of(input.tensors);
    for (std::size_t row = 0; row < given.count; ++row) {
      made->add(mix(mix(kept_.value, mix(given.values.at(row), 0)), 0));
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
  const bool is_last_;
  std::map<micro_batch_id, pass> live_;
  std::optional<std::uint64_t> sum_;
  double weight_ = 0;
};

}  // namespace

std::shared_ptr<training_body> make_hash_training_body(forward_surroundings& around, hash_weights& kept,
                                                       stage_address at, std::uint32_t stages) {
  return std::make_shared<hash_training_body>(around, kept, at, stages);
}

}  // namespace troupe::simulation
