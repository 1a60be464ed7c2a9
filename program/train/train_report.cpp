#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/report/result_parts.hpp"
#include "runtime/report/result_table_parts.hpp"
#include "runtime/report/single_value.hpp"
#include "runtime/report/text_table.hpp"
#include <troupe/trainer.hpp>

namespace troupe {
namespace {

using json = nlohmann::ordered_json;

constexpr int schema_version = 1;
constexpr std::size_t width_min = 40;
/// Longer lists are for --json.
constexpr std::size_t evaluations_shown = 20;

json numbers_json(const std::vector<double>& numbers, const std::string& name, number_writer& number) {
  json list = json::array();
  for (std::size_t i = 0; i < numbers.size(); ++i) list.push_back(number(numbers[i], fmt::format("{}[{}]", name, i)));
  return list;
}

json evaluations_json(const std::vector<train_evaluation>& evaluations, number_writer& number) {
  json list = json::array();
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    const train_evaluation& each = evaluations[i];
    list.push_back({{"step", each.step},
                    {"samples", each.samples},
                    {"metrics", metrics_json(each.metrics, number, fmt::format("evaluations[{}].metrics", i))}});
  }
  return list;
}

template <class T>
json optional_json(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json optimizer_json(const optimizer_options& options) {
  if (options.kind == optimizer_kind::sgd) {
    return {{"optimizer", "sgd"},
            {"momentum", options.momentum},
            {"dampening", options.dampening},
            {"nesterov", options.nesterov},
            {"weight_decay", options.weight_decay}};
  }
  return {{"optimizer", options.kind == optimizer_kind::adam ? "adam" : "adamw"},
          {"betas", {options.beta_1, options.beta_2}},
          {"eps", options.eps},
          {"amsgrad", options.amsgrad},
          {"weight_decay", options.weight_decay}};
}

json config_json(const train_options& o) {
  json made = {{"model", o.model},
               {"weights", o.weights},
               {"arch", o.arch},
               {"data", o.data},
               {"stages", o.stages},
               {"replicas", o.replicas},
               {"partition", o.partition},
               {"micro_batch", o.run.micro_batch},
               {"num_micro_batches", o.num_micro_batches},
               {"threads", optional_json(o.run.threads)},
               {"limit", optional_json(o.run.limit)},
               {"steps", optional_json(o.steps)},
               {"epochs", optional_json(o.epochs)},
               {"order", o.order == data_order::shuffled ? "shuffled" : "sequential"},
               {"seed", o.seed},
               {"loss", o.loss},
               {"lr", o.lr},
               {"schedule", o.schedule},
               {"clip_norm", optional_json(o.clip_norm)},
               {"recompute_interval", o.recompute_interval},
               {"protect", o.protect},
               {"eval_data", o.eval_data},
               {"eval_every", optional_json(o.eval_every)},
               {"metrics", o.metrics},
               {"patience", optional_json(o.patience)},
               {"save", o.save},
               {"save_every", optional_json(o.save_every)},
               {"resume", o.resume},
               {"save_weights", o.save_weights},
               {"processes", o.run.workers.enabled},
               {"fault", o.run.faults.texts()}};
  made.update(optimizer_json(o.optimizer));
  return made;
}

std::string steps_text(const train_result& result) {
  std::string text = fmt::format("{} in {} whole epoch{}", result.steps, result.epochs, result.epochs == 1 ? "" : "s");
  if (result.steps_before > 0) text += fmt::format(", {} of them before", result.steps_before);
  return text + (result.stopped_early ? ", stopped early" : "");
}

text_table summary(const train_result& result) {
  text_table table({text_table::align::left, text_table::align::left});
  if (result.partial) table.add({"PARTIAL", "the training ended before all steps were done"});
  table.add({"model", result.model});
  table.add({"data", result.data});
  table.add({"steps", steps_text(result)});
  const std::string left_out = result.left_out > 0 ? fmt::format(", {} left out", result.left_out) : "";
  table.add({"samples", fmt::format("{} in {} micro-batches{}", result.samples, result.micro_batches, left_out)});
  const double seconds = std::chrono::duration<double>(result.wall_time).count();
  table.add({"time", fmt::format("{:.3f} s, {:.1f} samples/s", seconds, result.samples_per_second)});
  if (!result.losses.empty()) {
    table.add({"loss", fmt::format("{:.5g} in the last step, {:.5g} in the first", result.losses.back(),
                                   result.losses.front())});
  }
  if (result.best_step) table.add({"best", fmt::format("after step {}", *result.best_step)});
  table.add({"weights", "SHA-256 " + result.weights_sha256});
  for (const std::string& each : result.warnings) table.add({"WARNING", each});
  return table;
}

/// With the metrics of the newest one. Those before, of a training that was resumed, may have others.
std::string evaluation_table(const train_result& result, std::size_t width) {
  const auto& all = result.evaluations;
  std::vector<std::string> metrics;
  for (const metric_value& each : all.back().metrics) {
    if (has_single_value(each)) metrics.push_back(each.name);
  }
  std::vector<std::string> header{"step", "samples"};
  header.insert(header.end(), metrics.begin(), metrics.end());
  text_table table(std::vector<text_table::align>(header.size(), text_table::align::right));
  table.add(std::move(header));
  const std::size_t first = all.size() > evaluations_shown ? all.size() - evaluations_shown : 0;
  for (std::size_t i = first; i < all.size(); ++i) {
    std::vector<std::string> cells{fmt::format("{}", all[i].step), fmt::format("{}", all[i].samples)};
    for (const std::string& name : metrics) {
      const auto found = std::ranges::find(all[i].metrics, name, &metric_value::name);
      const bool is_there = found != all[i].metrics.end() && has_single_value(*found);
      cells.push_back(is_there ? fmt::format("{:.5g}", found->value()) : "");
    }
    table.add(std::move(cells));
  }
  return (first > 0 ? fmt::format("the last {} of {} evaluations\n", all.size() - first, all.size()) : "") +
         table.text(width);
}

}  // namespace

json_report train_json(const train_result& result) {
  number_writer number;
  json object = {{"schema_version", schema_version},
                 {"model", result.model},
                 {"data", result.data},
                 {"steps", result.steps},
                 {"steps_before", result.steps_before},
                 {"epochs", result.epochs},
                 {"samples", result.samples},
                 {"micro_batches", result.micro_batches},
                 {"weights_sha256", result.weights_sha256},
                 {"losses", numbers_json(result.losses, "losses", number)},
                 {"learning_rates", numbers_json(result.learning_rates, "learning_rates", number)},
                 {"evaluations", evaluations_json(result.evaluations, number)},
                 {"best_step", optional_json(result.best_step)},
                 {"stopped_early", result.stopped_early},
                 {"stages", stages_json(result.stages, number)},
                 {"wall_seconds", in_seconds(result.wall_time)},
                 {"samples_per_second", number(result.samples_per_second, "samples_per_second")},
                 {"faults", faults_json(result.faults)},
                 {"config", config_json(result.config)}};
  if (result.left_out > 0) object["left_out"] = result.left_out;
  if (!result.warnings.empty()) object["warnings"] = result.warnings;
  if (result.partial) object["partial"] = true;
  if (!result.errors.empty()) object["errors"] = errors_json(result.errors);
  // File names need not be UTF-8: bytes that are not become U+FFFD.
  return {object.dump(2, ' ', false, json::error_handler_t::replace) + "\n", number.take_warnings()};
}

std::string train_table(const train_result& result, std::size_t width) {
  width = std::max(width, width_min);
  std::string text = summary(result).text(width);
  if (!result.evaluations.empty()) text += "\n" + evaluation_table(result, width);
  if (!result.faults.empty()) text += "\n" + fault_table(result.faults, width);
  return text + "\n" + stage_table(result.stages, width);
}

}  // namespace troupe
