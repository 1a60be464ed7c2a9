#include "program/models/layer_choice.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"

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

std::vector<std::size_t> all_layers(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace

expected<layer_choice> judge_code(const layered_model& model, const layer_choice_request& asked) {
  layer_choice made;
  return judge(model, asked, model.random_code(), made).map([&] { return std::move(made); });
}

expected<void> try_model(layered_model& model, const layer_choice_request& asked, const graph_values& sample,
                         const std::stop_token& stop, layer_choice& into) {
  const graph_values few = first_rows(sample, limits::compared_samples_max);
  if (!few.empty()) {
    auto unrepeatable = TROUPE_TRY(model.unrepeatable(few, stop));
    std::erase_if(unrepeatable,
                  [&](const layer_finding& each) { return std::ranges::binary_search(into.random, each.layer); });
    TROUPE_TRY(judge(model, asked, unrepeatable, into));
  }
  if (asked.optimize == optimize_mode::none) return {};
  if (asked.journaled) {
    into.plain = *asked.journaled;
  } else if (!into.random.empty()) {
    into.plain = all_layers(model.layers().size());
  }
  if (!into.plain.empty()) return {};
  model.optimize(asked.is_for_device);
  const auto difference = few.empty() || asked.journaled ? std::nullopt : model.difference(few);
  if (!difference) return {};
  into.notes.push_back(model.name() + " runs as it stands: rewritten, " + *difference);
  into.plain = all_layers(model.layers().size());
  model.run_plain();
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
