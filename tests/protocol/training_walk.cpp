#include "tests/protocol/training_walk.hpp"

#include <random>

namespace troupe::testing {
namespace {

class chooser {
 public:
  explicit chooser(std::uint64_t seed) : random_(seed) {}
  /// From `least` to `most`.
  template <class Integer>
  Integer among(Integer least, Integer most) {
    return static_cast<Integer>(least + static_cast<Integer>(random_() % static_cast<unsigned>(most - least + 1)));
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace

training_options drawn_training(std::uint64_t seed) {
  chooser draw(seed);
  training_options made;
  made.replicas = draw.among<std::uint8_t>(1, 2);
  made.stages = draw.among<std::uint8_t>(1, made.replicas == 1 ? 4 : 3);
  made.micro_batches = draw.among<std::uint8_t>(made.replicas, 4);
  made.steps = draw.among<std::uint8_t>(1, training_steps_max);
  made.deaths = draw.among<std::uint8_t>(0, training_deaths_max);
  made.spare_slots = draw.among<std::int8_t>(0, static_cast<std::int8_t>(training_slots_max - made.stages));
  made.gradient_slots = draw.among<std::uint8_t>(1, training_slots_max);
  made.window = static_cast<std::uint8_t>(made.micro_batches + draw.among<std::uint8_t>(0, 4));
  made.marks_lag = draw.among(0, 1) == 1;
  made.writes_again = !made.marks_lag;
  made.is_tied = made.stages > 1 && draw.among(0, 1) == 1;
  return made;
}

verdict_of<training_violation> walk(const training_options& options, std::uint64_t seed) {
  const training_model model(options);
  // How rare deaths, and news of decisions and votes, are among what can happen: some seeds let them wait for long.
  chooser draw(seed + 1);
  const int death_rarity = draw.among(1, 60);
  const int director_rarity = draw.among(1, 8);
  const int news_rarity = 1 << draw.among(0, 8);
  verdict_of<training_violation> made;
  training_state now = model.initial();
  training_action last = training_action::load;
  for (std::vector<training_step> steps;; ++made.states) {
    model.steps(now, steps);
    const bool only_deaths = std::ranges::all_of(steps, [&](const auto& step) { return model.is_death(step); });
    if (only_deaths && (steps.empty() || draw.among(0, 1) == 0)) {
      made.found = model.at_rest(now);
      return made;
    }
    const training_step& next = steps[draw.among<std::size_t>(0, steps.size() - 1)];
    // A death in the middle of writing a gradient would hardly ever be drawn.
    const bool is_rare = !only_deaths && last != training_action::write_gradient;
    if (model.is_death(next) && is_rare && draw.among(0, death_rarity) > 0) continue;
    if (next.action == training_action::apply && draw.among(0, news_rarity) > 0) continue;
    if (next.action > training_action::begin_anew && draw.among(0, director_rarity) > 0) continue;
    made.trace.push_back(model.describe(now, next));
    made.found = next.broken;
    if (made.found != training_violation::none) return made;
    last = next.action;
    now = next.next;
  }
}

std::string explain(const training_options& options, const verdict_of<training_violation>& found) {
  std::string text = std::string(name_of(found.found)) + (found.gave_up ? " (gave up)" : "") + " with " +
                     to_string(options) + ", " + std::to_string(found.states) + " states";
  for (const std::string& line : found.trace) text += "\n  " + line;
  return text;
}

}  // namespace troupe::testing
