#include "train_flags.hpp"

#include <array>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "count_flag.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/launch/process_context.hpp"
#include "runtime/suggest/read_text.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe::cli {
namespace {

/// Options of eval with the same meaning here.
constexpr std::array<std::string_view, 32> taken = {"model",
                                                    "weights",
                                                    "arch",
                                                    "not_strict",
                                                    "data",
                                                    "data_workers",
                                                    "stages",
                                                    "replicas",
                                                    "micro_batch",
                                                    "threads",
                                                    "layers",
                                                    "partition",
                                                    "num_pipe_buffers",
                                                    "metrics",
                                                    "score_output",
                                                    "score_label",
                                                    "allow_effects",
                                                    "allow_random",
                                                    "limit",
                                                    "processes",
                                                    "transport",
                                                    "worker_timeout",
                                                    "start_deadline",
                                                    "forward_deadline",
                                                    "checksums",
                                                    "deadline",
                                                    "fault",
                                                    "output",
                                                    "log",
                                                    "log_format",
                                                    "log_level",
                                                    "json"};

/// Whole numbers that JSON readers hold.
constexpr double count_max = 9007199254740991.0;
constexpr double real_max = 1e9;

using train_reader = expected<void> (*)(const std::string& text, train_options& into);

struct train_flag {
  std::string_view flag;
  std::string_view value_name;
  std::string_view help;
  train_reader read;
};

expected<void> put(expected<std::uint64_t> number, std::optional<std::uint64_t>& into) {
  if (!number) return tl::make_unexpected(std::move(number.error()));
  into = *number;
  return {};
}

template <class Number, class To>
expected<void> put(expected<Number> number, To& into) {
  if (!number) return tl::make_unexpected(std::move(number.error()));
  into = static_cast<To>(*number);
  return {};
}

expected<void> read_order(const std::string& text, train_options& into) {
  if (text != "shuffled" && text != "sequential") {
    return fail(error_code::unknown_name, "--order", fmt::format("'{}' is no order", text),
                suggest_fix(text, std::array<std::string, 2>{"shuffled", "sequential"}));
  }
  into.order = text == "shuffled" ? data_order::shuffled : data_order::sequential;
  return {};
}

expected<void> read_optimizer(const std::string& text, train_options& into) {
  static const std::array<std::string, 3> names = {"sgd", "adam", "adamw"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text != names[i]) continue;
    into.optimizer.kind = static_cast<optimizer_kind>(i);
    return {};
  }
  return fail(error_code::unknown_name, "--optimizer", fmt::format("'{}' is no optimizer", text),
              suggest_fix(text, names));
}

expected<void> read_betas(const std::string& text, train_options& into) {
  const std::vector<std::string> parts = split(text, ',');
  const auto first = number_in<double>(parts.front());
  const auto second = number_in<double>(parts.back());
  if (parts.size() != 2 || !first || !second) {
    return fail(error_code::value_out_of_range, "--betas", fmt::format("'{}' is not two numbers", text),
                "write for example --betas 0.9,0.999");
  }
  into.optimizer.beta_1 = *first;
  into.optimizer.beta_2 = *second;
  return {};
}

using text = const std::string&;
using o = train_options;

constexpr std::array train_flag_table = {
    train_flag{"--loss", "NAME:OPTIONS",
               "cross_entropy, nll, mse, l1 or bce_with_logits, as in "
               "cross_entropy:label_smoothing=0.1 [cross_entropy]",
               [](text t, o& into) { return put(expected<std::string>(t), into.loss); }},
    train_flag{"--num-micro-batches", "M", "Micro-batches of a step, over all replicas [1]",
               [](text t, o& into) {
                 return put(read_count("num_micro_batches", t, limits::step_micro_batches_max), into.num_micro_batches);
               }},
    train_flag{"--steps", "N", "Train for so many steps",
               [](text t, o& into) { return put(read_count("steps", t, count_max), into.steps); }},
    train_flag{"--epochs", "N", "Train for so many passes over the data",
               [](text t, o& into) { return put(read_count("epochs", t, count_max), into.epochs); }},
    train_flag{"--order", "ORDER", "Order of the samples in each epoch: shuffled or sequential [shuffled]",
               &read_order},
    train_flag{"--seed", "N", "Seed of all draws: order, initial weights, dropout [0]",
               [](text t, o& into) { return put(read_number("seed", t, limits::seed_max), into.seed); }},
    train_flag{"--optimizer", "NAME", "sgd, adam or adamw [sgd]", &read_optimizer},
    train_flag{"--lr", "RATE", "Learning rate [0.01]",
               [](text t, o& into) { return put(read_real("lr", t, 1e-300, real_max), into.lr); }},
    train_flag{"--schedule", "NAME:OPTIONS",
               "Learning rate over the steps, as in cosine:total=1000:warmup=50 [constant]",
               [](text t, o& into) { return put(expected<std::string>(t), into.schedule); }},
    train_flag{"--momentum", "F", "Of sgd [0]",
               [](text t, o& into) { return put(read_real("momentum", t, 0, real_max), into.optimizer.momentum); }},
    train_flag{"--dampening", "F", "Of sgd [0]",
               [](text t, o& into) { return put(read_real("dampening", t, 0, real_max), into.optimizer.dampening); }},
    train_flag{"--nesterov", "", "Nesterov's momentum, of sgd",
               [](text, o& into) { return put(expected<bool>(true), into.optimizer.nesterov); }},
    train_flag{
        "--weight-decay", "F", "Of all optimizers [0]",
        [](text t, o& into) { return put(read_real("weight_decay", t, 0, real_max), into.optimizer.weight_decay); }},
    train_flag{"--betas", "B1,B2", "Of adam and adamw [0.9,0.999]", &read_betas},
    train_flag{"--eps", "F", "Of adam and adamw [1e-8]",
               [](text t, o& into) { return put(read_real("eps", t, 0, real_max), into.optimizer.eps); }},
    train_flag{"--amsgrad", "", "AMSGrad, of adam and adamw",
               [](text, o& into) { return put(expected<bool>(true), into.optimizer.amsgrad); }},
    train_flag{"--clip-norm", "F", "Scale the gradient down to this norm where it is greater",
               [](text t, o& into) {
                 return read_real("clip_norm", t, 1e-300, real_max).map([&](double norm) { into.clip_norm = norm; });
               }},
    train_flag{"--recompute-interval", "N",
               "Layers of a segment whose activations are computed again in the backward pass",
               [](text t, o& into) {
                 return put(read_count("recompute_interval", t, limits::layers_max), into.recompute_interval);
               }},
    train_flag{"--protect", "FROM", "What a lost host's state comes from: memory, shadow or checkpoint:K [memory]",
               [](text t, o& into) { return put(expected<std::string>(t), into.protect); }},
    train_flag{"--eval-data", "KIND:PATH", "Evaluate these data, too, with the metrics, between steps",
               [](text t, o& into) { return put(expected<std::string>(t), into.eval_data); }},
    train_flag{"--eval-every", "N", "Steps between evaluations [an epoch]",
               [](text t, o& into) { return put(read_count("eval_every", t, count_max), into.eval_every); }},
    train_flag{"--patience", "N", "End after so many evaluations in which the first metric was no better",
               [](text t, o& into) { return put(read_count("patience", t, count_max), into.patience); }},
    train_flag{"--save", "DIR", "Folder for checkpoints",
               [](text t, o& into) { return put(expected<std::string>(t), into.save); }},
    train_flag{"--save-every", "N", "Steps between checkpoints [an epoch]",
               [](text t, o& into) { return put(read_count("save_every", t, count_max), into.save_every); }},
    train_flag{"--resume", "", "Go on from the newest checkpoint in --save, if there is one",
               [](text, o& into) { return put(expected<bool>(true), into.resume); }},
    train_flag{"--save-weights", "FILE", "Write the weights at the end to this safetensors file",
               [](text t, o& into) { return put(expected<std::string>(t), into.save_weights); }},
};

train_options shared_of(const eval_options& from) {
  train_options made;
  made.model = from.model;
  made.weights = from.weights;
  made.arch = from.arch;
  made.not_strict = from.not_strict;
  made.data = from.data;
  made.stages = from.stages;
  made.replicas = from.replicas;
  made.layers = from.layers;
  made.partition = from.partition;
  made.num_pipe_buffers = from.num_pipe_buffers;
  made.allow_effects = from.allow_effects;
  made.allow_random = from.allow_random;
  made.score_output = from.score_output;
  made.score_label = from.score_label;
  made.metrics = from.metrics;
  made.run = from.run;
  made.run.journal = {};
  made.run.trace = false;
  made.output = from.output;
  made.json = from.json;
  return made;
}

}  // namespace

train_flags::train_flags(parser& into) : parser_(into), shared_(into, taken) {
  for (const train_flag& each : train_flag_table) {
    std::string& text = texts_[each.flag];
    if (each.value_name.empty()) {
      into.add_toggle(std::string(each.flag), text, std::string(each.help));
    } else {
      into.add_text(std::string(each.flag), text, std::string(each.help), std::string(each.value_name));
    }
  }
}

expected<void> train_flags::check_optimizer(optimizer_kind kind) const {
  constexpr std::array of_sgd = {"--momentum", "--dampening", "--nesterov"};
  constexpr std::array of_adam = {"--betas", "--eps", "--amsgrad"};
  const bool is_sgd = kind == optimizer_kind::sgd;
  for (const char* flag : is_sgd ? of_adam : of_sgd) {
    if (!parser_.is_given(flag)) continue;
    return fail(
        error_code::flags_contradict, flag, is_sgd ? "sgd has no such option" : "adam and adamw have no such option",
        is_sgd ? "leave it out, or train with --optimizer adamw" : "leave it out, or train with --optimizer sgd");
  }
  return {};
}

expected<train_options> train_flags::read() const {
  auto resolved = TROUPE_TRY(shared_.resolve());
  train_options made = shared_of(resolved.options);
  for (const train_flag& each : train_flag_table) {
    if (parser_.is_given(std::string(each.flag))) TROUPE_TRY(each.read(texts_.at(each.flag), made));
  }
  TROUPE_TRY(check_optimizer(made.optimizer.kind));
  if (parser_.is_given("--metrics") && made.eval_data.empty()) {
    return fail(error_code::flags_contradict, "--metrics", "there are no data to evaluate",
                "add --eval-data KIND:PATH");
  }
  // a launched run has workers without being told
  if (process_context::of_this_process().spans_nodes) made.run.workers.enabled = true;
  if (const auto found = find_contradiction(made.run)) {
    return fail(error_code::flags_contradict, flag_name(*find_option(found->option)), found->cause, found->flag_fix);
  }
  return made;
}

}  // namespace troupe::cli
