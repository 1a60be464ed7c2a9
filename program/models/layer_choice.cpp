#include "program/models/layer_choice.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/model/stopped_early.hpp"

namespace troupe {
namespace {

constexpr auto random_fix =
    "export it in eval mode: model.eval() before torch.jit.trace, and F.dropout(x, training=self.training) in its "
    "code; "
    "--allow-random (allow_random in code) takes it, without the promise of equal bits";

std::string place_of(const layered_model& model, const layer_finding& found) {
  return model.name() + ", " + found.name;
}

/// Into the warnings, if it is allowed.
expected<void> judge(const layered_model& model, const layer_choice_request& asked,
                     const std::vector<layer_finding>& random, layer_choice& into) {
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

void note(layer_choice& into, const std::string& text) {
  if (into.notes.size() < limits::layer_notes_max) into.notes.push_back(text);
}

std::vector<std::size_t> all_layers(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

void choose_all(const layered_model& model, layer_choice& into) {
  into.plain = all_layers(model.weights().size());
  note(into,
       model.name() + " runs as it stands: there is no sample to compare its optimized layers with the plain ones on");
}

bool chooses_here(const layered_model& model, const layer_choice_request& asked) {
  return model.is_optimizable() && asked.optimize != optimize_mode::none && !asked.journaled;
}

at::Tensor few_rows(const at::Tensor& sample) {
  return sample.narrow(0, 0, std::min(limits::compared_samples_max, sample.size(0)));
}

}  // namespace

expected<layer_choice> judge_code(const layered_model& model, const layer_choice_request& asked) {
  layer_choice made;
  return judge(model, asked, model.random_code(), made).map([&] { return std::move(made); });
}

expected<void> try_layers(layered_model& model, const layer_choice_request& asked, const at::Tensor& sample,
                          const std::stop_token& stop, layer_choice& into) {
  const bool chooses = chooses_here(model, asked) && asked.optimize == optimize_mode::layer;
  if (sample.defined()) {
    auto trial = TROUPE_TRY(model.try_layers(few_rows(sample), chooses, into.random, stop));
    std::erase_if(trial.unrepeatable,
                  [&](const layer_finding& each) { return std::ranges::binary_search(into.random, each.layer); });
    TROUPE_TRY(judge(model, asked, trial.unrepeatable, into));
    for (const layer_finding& each : trial.differing) {
      note(into, place_of(model, each) + " runs as it stands: optimized, " + each.text);
      into.plain.push_back(each.layer);
    }
    if (chooses) into.plain.insert(into.plain.end(), into.random.begin(), into.random.end());
    std::ranges::sort(into.plain);
  } else if (chooses) {
    choose_all(model, into);
  }
  if (asked.journaled && asked.optimize == optimize_mode::layer) into.plain = *asked.journaled;
  return {};
}

expected<void> try_stages(layered_model& model, const layer_choice_request& asked, const part_boundaries& boundaries,
                          const std::vector<at::Tensor>& inputs, const std::stop_token& stop, layer_choice& into) {
  if (!model.is_optimizable() || asked.optimize != optimize_mode::stage) return {};
  if (asked.journaled) {
    into.plain = *asked.journaled;
    return {};
  }
  if (inputs.empty()) {
    choose_all(model, into);
    return {};
  }
  for (std::size_t stage = 0; stage + 1 < boundaries.size(); ++stage) {
    if (stop.stop_requested()) return stopped_early(model.name());
    const auto choose = [&] {
      for (std::size_t layer = boundaries[stage]; layer < boundaries[stage + 1]; ++layer) into.plain.push_back(layer);
    };
    if (std::ranges::any_of(into.random, [&](std::size_t layer) {
          return boundaries[stage] <= layer && layer < boundaries[stage + 1];
        })) {
      choose();
      continue;
    }
    const auto difference =
        TROUPE_TRY(model.compare_stage(boundaries[stage], boundaries[stage + 1], few_rows(inputs[stage])));
    if (!difference) continue;
    note(into, model.name() + ", layers " + std::to_string(boundaries[stage]) + " to " +
                   std::to_string(boundaries[stage + 1] - 1) + " (stage " + std::to_string(stage) +
                   ") run as they stand: fused as a whole, " + *difference);
    choose();
  }
  return {};
}

std::string plain_text(const std::vector<std::size_t>& plain, std::size_t layers) {
  if (plain.empty()) return "none";
  if (plain.size() == layers) return "all";
  std::string text;
  for (const std::size_t each : plain) text.append(text.empty() ? "" : ",").append(std::to_string(each));
  return text;
}

std::optional<std::vector<std::size_t>> parse_plain(const std::string& text, std::size_t layers) {
  if (text == "none") return std::vector<std::size_t>();
  if (text == "all") return all_layers(layers);
  std::vector<std::size_t> plain;
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t number = 0;
    const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (failure != std::errc{} || number >= layers || (!plain.empty() && number <= plain.back())) return std::nullopt;
    plain.push_back(number);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) break;
    if (rest.front() != ',' || rest.size() == 1) return std::nullopt;
    rest.remove_prefix(1);
  }
  return plain.empty() ? std::nullopt : std::optional(std::move(plain));
}

}  // namespace troupe
