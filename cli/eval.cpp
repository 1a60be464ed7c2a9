#include <cstdlib>
#include <filesystem>

#include "command.hpp"
#include "eval_interrupt.hpp"
#include "live_report.hpp"
#include "messages/try.hpp"
#include "option_flags.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "program/launch/process_context.hpp"
#include "run_status.hpp"
#include "runtime/process/worker_environment.hpp"
#include "runtime/report/writable_directory.hpp"
#include "scalar_output.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/program.hpp>
#include <troupe/result.hpp>

namespace troupe::cli {
namespace {

constexpr const char* examples =
    "  troupe eval --model data/mnist/lenet.pt --data mnist:data/mnist --stages 2\n"
    "  troupe eval --model resnet20.pt --data cifar10:test_batch.bin --stages 4 --micro-batch 100 --json\n"
    "  troupe eval --config run.toml --limit 1000 --metrics accuracy,top5 --output out\n"
    "  troupe eval --config run.toml --journal run.journal            (killed in the middle)\n"
    "  troupe eval --config run.toml --journal run.journal --resume   (does the rest)\n";

constexpr const char* result_file = "result.json";
constexpr const char* trace_file = "trace.jsonl";

expected<eval_options> checked_options(const option_flags& flags) {
  auto resolved = TROUPE_TRY(flags.resolve());
  if (process_context::of_this_process().spans_nodes)
    resolved.options.run.workers.enabled = true;  // a launched run has workers without being told
  TROUPE_TRY(check_together(resolved));
  return resolved.options;
}

/// Hours before there is anything to write.
expected<void> check_output(const eval_options& options) {
  if (options.output.empty()) return {};
  std::vector<std::string> files = {result_file};
  if (options.run.trace) files.emplace_back(trace_file);
  return check_writable_directory(options.output, files);
}

expected<void> write_output(const run_result& result, const std::string& json) {
  if (result.config.output.empty()) return {};
  const std::filesystem::path directory = result.config.output;
  if (result.config.run.trace) {
    TROUPE_TRY(write_result_file(directory / trace_file, trace_json_lines(result.trace)));
  }
  return write_result_file(directory / result_file, json);
}

/// The result is printed even if its file cannot be written: it may have taken hours.
expected<exit_status> deliver(const run_result& result, scalar_output& scalars) {
  const json_report json = result_json(result);
  const bool is_json_asked_for = result.config.json || !result.config.output.empty();
  for (const std::string& warning : json.warnings) {
    if (is_json_asked_for) say_warning(warning);
  }
  const auto written = write_output(result, json.text);
  const auto printed = print(result.config.json ? json.text : result_table(result, output_width()));
  const auto logged = scalars.write(result);
  for (const error& each : result.errors) say_error(each);
  if (!written) return tl::make_unexpected(written.error());
  if (!printed) return tl::make_unexpected(printed.error());
  if (!logged) return tl::make_unexpected(logged.error());
  return status_of_result(result);
}

/// Where the result goes, and in which form the log is written, is the command's affair.
eval_options without_output(eval_options options) {
  options.output.clear();
  options.json = false;
  options.log_scalars.clear();
  options.log_step.reset();
  if (options.run.log.file.empty()) options.run.log.format = log_format::text;
  return options;
}

expected<exit_status> evaluate(const eval_options& options) {
  TROUPE_TRY(check_output(options));
  auto scalars = TROUPE_TRY(scalar_output::open(options));
  const auto interrupt = TROUPE_TRY(eval_interrupt::start());
  const auto live = TROUPE_TRY(live_report::start(options.run.log));
  auto created = evaluator::create(without_output(options), live->hooks());
  if (!created) return leave(tl::make_unexpected(created.error()));
  evaluator& evaluation = **created;
  interrupt->attach(evaluation);
  auto result = evaluation.run();
  if (result) {
    result->config.output = options.output;
    result->config.json = options.json;
    result->config.log_scalars = options.log_scalars;
    result->config.log_step = options.log_step;
    result->config.run.log.format = options.run.log.format;
  }
  if (!evaluation.stuck()) live->finish();
  auto status = result ? deliver(*result, scalars) : expected<exit_status>(tl::make_unexpected(result.error()));
  interrupt->detach();
  return leave(std::move(status));
}

}  // namespace

expected<exit_status> run_eval(const arguments& given) {
  const program self(0, nullptr);
  parser reader("eval",
                "Evaluate a model on data through a pipeline of stages.\n"
                "Ctrl-C once finishes what is under way and prints it, labelled partial; twice stops at once.",
                examples);
  const option_flags flags(reader);
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  const auto options = TROUPE_TRY(checked_options(flags));
  // a worker, or the process that tries the run out, never comes back from here
  if (program::worker() != nullptr || program::is_probe())
    return evaluator::create(without_output(options), {}).map([](const auto&) { return exit_status::ok; });
  return evaluate(options);
}

}  // namespace troupe::cli
