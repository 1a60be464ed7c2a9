#include "program/start/training_pins.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "messages/try.hpp"
#include "program/start/journal_pins.hpp"
#include "runtime/journal/journal_store.hpp"
#include "runtime/os/file_hash.hpp"

namespace troupe {
namespace {

std::string optimizer_text(const optimizer_options& asked) {
  if (asked.kind == optimizer_kind::sgd) {
    return fmt::format("sgd, momentum {}, dampening {}, {}weight_decay {}", asked.momentum, asked.dampening,
                       asked.nesterov ? "nesterov, " : "", asked.weight_decay);
  }
  return fmt::format("{}, betas {} {}, eps {}, {}weight_decay {}",
                     asked.kind == optimizer_kind::adam ? "adam" : "adamw", asked.beta_1, asked.beta_2, asked.eps,
                     asked.amsgrad ? "amsgrad, " : "", asked.weight_decay);
}

std::string loss_text(const training_loss_options& asked) {
  constexpr std::array<std::string_view, 6> names = {"cross_entropy", "nll", "mse", "l1", "bce_with_logits", "custom"};
  std::string text(names.at(static_cast<std::size_t>(asked.kind)));
  if (asked.kind != loss_kind::cross_entropy && asked.kind != loss_kind::nll) return text;
  text += fmt::format(", ignore_index {}", asked.ignore_index);
  if (asked.label_smoothing != 0) text += fmt::format(", label_smoothing {}", asked.label_smoothing);
  if (!asked.class_weights.empty()) text += fmt::format(", class_weights {}", fmt::join(asked.class_weights, " "));
  return text;
}

/// Names, shapes, types and bytes.
std::string digest_of(const state_dict& weights) {
  sha256 hash;
  for (const named_tensor& each : weights) {
    const at::Tensor whole = each.tensor.detach().cpu().contiguous();
    const std::string text = fmt::format("{} {} {};", each.name, c10::toString(whole.scalar_type()),
                                         fmt::join(whole.sizes().begin(), whole.sizes().end(), ","));
    hash.add(text.data(), text.size());
    hash.add(whole.data_ptr(), whole.nbytes());
  }
  return hash.digest();
}

/// The file, or the layers of code by their types; and the weights before the first step.
expected<std::string> model_text(const cut_pipeline& pipeline, const std::string& name,
                                 const training_snapshot& initial) {
  const auto* const layers = pipeline.model.layers();
  std::string text;
  if (layers == nullptr) {
    text = TROUPE_TRY(pipeline.model.identity(pipeline.options, name));
  } else {
    for (const layer_spec& each : *layers) text += (text.empty() ? "" : " ") + each.type();
  }
  return text + " with " + digest_of(initial.weights);
}

}  // namespace

expected<journal_pins> pins_of_training(const checked_run& run, const training_snapshot& initial,
                                        const std::map<std::string, std::string>& others) {
  const auto& [name, pipeline] = *run.parts().pipelines.begin();
  const training_options& training = *pipeline.options.training;
  journal_pins pins = {{"model", TROUPE_TRY(model_text(pipeline, name, initial))},
                       {"num_micro_batches", std::to_string(training.num_micro_batches)},
                       {"seed", std::to_string(training.seed)},
                       {"optimizer", optimizer_text(training.optimizer)},
                       {"clip_norm", training.clip_norm ? fmt::format("{}", *training.clip_norm) : "not set"},
                       {"loss", loss_text(*training.loss)},
                       {"threads", std::to_string(run.options.threads.value_or(0))}};
  for (journal_pin& each : pins_of_machine()) pins.push_back(std::move(each));
  for (const auto& [key, value] : others) {
    if (find_pin(pins, key)) {
      return fail(error_code::flags_contradict, "training_engine, journal.pins",
                  "the engine has a value for \"" + key + "\" itself", "leave it out, or give it another name");
    }
    pins.push_back({key, value});
  }
  return pins;
}

}  // namespace troupe
