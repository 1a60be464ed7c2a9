#include "program/models/rewrite_choice.hpp"

#include <algorithm>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

constexpr auto random_fix =
    "export it in eval mode: model.eval() before torch.jit.trace, and F.dropout(x, training=self.training) in its "
    "code, and let forward change no buffer or attribute of the model; --allow-random (allow_random in code) takes it, "
    "without the promise of equal bits";

std::string place_of(const layered_model& model, const layer_finding& found) {
  return model.name() + ", " + found.name;
}

/// Into the warnings, if it is allowed.
expected<void> judge(const layered_model& model, const rewrite_choice_request& asked,
                     const std::vector<layer_finding>& random, rewrite_choice& into) {
  for (const layer_finding& each : random) {
    if (!asked.allow_random) {
      return fail(error_code::model_not_repeatable, place_of(model, each),
                  "the layer " + each.text + "; the same input would give other results in each run", random_fix);
    }
    into.warnings.push_back(place_of(model, each) + " " + each.text +
                            ": results are not repeatable, and other runs, stages or replays give other ones");
    into.random.push_back(each.layer);
  }
  std::ranges::sort(into.random);
  return {};
}

}  // namespace

expected<rewrite_choice> judge_code(const layered_model& model, const rewrite_choice_request& asked) {
  rewrite_choice made;
  return judge(model, asked, model.random_code(), made).map([&] { return std::move(made); });
}

expected<void> try_model(layered_model& model, const rewrite_choice_request& asked, const graph_values& sample,
                         const std::stop_token& stop, rewrite_choice& into) {
  const graph_values few = first_rows(sample, limits::compared_samples_max);
  if (!few.empty()) {
    auto unrepeatable = TROUPE_TRY(model.unrepeatable(few, stop));
    std::erase_if(unrepeatable,
                  [&](const layer_finding& each) { return std::ranges::binary_search(into.random, each.layer); });
    TROUPE_TRY(judge(model, asked, unrepeatable, into));
  }
  if (asked.optimize == optimize_mode::none) return {};
  into.runs_plain = asked.journaled.value_or(!into.random.empty());
  if (into.runs_plain) return {};
  model.optimize(asked.is_for_device);
  const auto difference = few.empty() || asked.journaled ? std::nullopt : model.difference(few);
  if (!difference) return {};
  into.notes.push_back(model.name() + " runs as it stands: rewritten, " + *difference);
  into.runs_plain = true;
  model.run_plain();
  return {};
}

}  // namespace troupe
