#include <array>
#include <string_view>

#include "command.hpp"
#include "compare_report.hpp"
#include "count_flag.hpp"
#include "eval_interrupt.hpp"
#include "live_report.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "option_flags.hpp"
#include "option_words.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "program/launch/process_context.hpp"
#include "run_status.hpp"
#include <troupe/program.hpp>

namespace troupe::cli {
namespace {

constexpr const char* compare_examples =
    "  troupe compare old.pt new.pt --data mnist:data/mnist\n"
    "  troupe compare a.safetensors b.safetensors c.safetensors --arch resnet20-cifar --data cifar10:data/cifar10\n"
    "  troupe compare checkpoint-500 checkpoint-1000 --data npz:test.npz --processes --json\n";

constexpr double resamples_max = 1e6;
constexpr double seed_max = 9007199254740991.0;

/// Options that are of one model, or write files of one evaluation.
constexpr std::array<std::string_view, 9> refused = {
    "weights", "output", "journal", "resume", "trace", "predictions", "predictions_with", "log_scalars", "log_step"};

struct compare_flags {
  std::vector<std::string> models;
  std::string resamples;
  std::string seed;
};

expected<void> check_models(const std::vector<std::string>& models) {
  if (models.size() >= 2) return {};
  const std::string first = models.empty() ? "old.pt" : models.front();
  return fail(error_code::missing_flag, "troupe compare",
              "expected two models or more, found " + std::to_string(models.size()),
              "name the others behind it, as in troupe compare " + printable(first) +
                  " new.pt; to evaluate one model take troupe eval");
}

expected<compare_request> read_request(const option_flags& flags, const compare_flags& own) {
  TROUPE_TRY(check_models(own.models));
  auto resolved = TROUPE_TRY(flags.resolve());
  if (process_context::of_this_process().spans_nodes) resolved.options.run.workers.enabled = true;
  TROUPE_TRY(refuse_given(resolved, refused, "compare evaluates several models, and prints what it finds"));
  compare_request made{.options = resolved.options, .models = own.models};
  const bool has_model = !resolved.options.model.empty() || !resolved.options.arch.empty();
  (has_model ? resolved.options.weights : resolved.options.model) = own.models.front();
  TROUPE_TRY(check_together(resolved));
  if (!own.resamples.empty()) made.resamples = TROUPE_TRY(read_count("resamples", own.resamples, resamples_max));
  if (!own.seed.empty()) made.seed = TROUPE_TRY(read_number("seed", own.seed, seed_max));
  return made;
}

run_options run_options_of(const compare_request& asked) {
  run_options made = asked.options.run;
  if (made.log.file.empty()) made.log.format = log_format::text;
  return made;
}

expected<exit_status> deliver(const compare_request& asked, const comparison& made) {
  TROUPE_TRY(print(asked.options.json ? compare_json(asked, made) : compare_text(asked, made, output_width())));
  for (const error& each : made.result.errors) say_error(each);
  return status_of_result(made.result);
}

expected<exit_status> compare(const compare_request& asked, const model_comparison& models) {
  const auto interrupt = TROUPE_TRY(eval_interrupt::start());
  const auto live = TROUPE_TRY(live_report::start(asked.options.run.log));
  auto created = evaluator::create(models.what(), run_options_of(asked), live->hooks());
  if (!created) return leave(tl::make_unexpected(created.error()));
  evaluator& evaluation = **created;
  interrupt->attach(evaluation);
  auto result = evaluation.run();
  if (!evaluation.stuck()) live->finish();
  auto status = result ? deliver(asked, models.judge(std::move(*result)))
                       : expected<exit_status>(tl::make_unexpected(result.error()));
  interrupt->detach();
  return leave(std::move(status));
}

}  // namespace

expected<exit_status> run_compare(const arguments& given) {
  const program self(0, nullptr);
  parser reader(
      "compare",
      "Evaluate several models on the same samples in one pass over the data, and compare them with the first.\n"
      "MODELS are weights where --model or --arch is given.",
      compare_examples);
  compare_flags own;
  reader.add_places("MODELS", own.models, "Files or folders, two or more");
  reader.add_text("--resamples", own.resamples, "Resamples of the bootstrap [1000]", "N");
  reader.add_text("--seed", own.seed, "What the resamples are drawn from [0]", "N");
  const option_flags flags(reader);
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  const auto asked = TROUPE_TRY(read_request(flags, own));
  const auto models = TROUPE_TRY(model_comparison::create(asked));
  // a worker, or the process that tries the run out, never comes back from here
  if (program::worker() != nullptr || program::is_probe()) {
    return evaluator::create(models.what(), run_options_of(asked), {}).map([](const auto&) { return exit_status::ok; });
  }
  return compare(asked, models);
}

}  // namespace troupe::cli
