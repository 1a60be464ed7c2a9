#include <filesystem>
#include <memory>

#include "command.hpp"
#include "eval_interrupt.hpp"
#include "live_report.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "run_status.hpp"
#include "runtime/report/writable_directory.hpp"
#include "train_flags.hpp"
#include <troupe/program.hpp>
#include <troupe/trainer.hpp>

namespace troupe::cli {
namespace {

constexpr const char* train_examples =
    "  troupe train --model net.pt --data mnist:train --loss cross_entropy --epochs 3 --stages 2 --save-weights "
    "w.safetensors\n"
    "  troupe train --model net.pt --data cifar10:data_batch.bin --steps 1000 --micro-batch 32 --num-micro-batches 4 "
    "\\\n"
    "    --optimizer adamw --lr 1e-3 --schedule cosine:total=1000 --eval-data cifar10:test_batch.bin --patience 5\n"
    "  troupe train ... --save checkpoints            (killed in the middle)\n"
    "  troupe train ... --save checkpoints --resume   (goes on)\n";

constexpr const char* train_file = "result.json";

/// Where the result goes, and in which form the log is written, is the command's affair.
train_options for_trainer(train_options options) {
  options.output.clear();
  options.json = false;
  if (options.run.log.file.empty()) options.run.log.format = log_format::text;
  return options;
}

/// The result is printed even if its file cannot be written: it may have taken days.
expected<exit_status> deliver_training(const train_options& options, const train_result& result) {
  const json_report json = train_json(result);
  if (options.json || !options.output.empty()) {
    for (const std::string& warning : json.warnings) say_warning(warning);
  }
  expected<void> written;
  if (!options.output.empty()) {
    written = write_result_file(std::filesystem::path(options.output) / train_file, json.text);
  }
  const auto printed = print(options.json ? json.text : train_table(result, output_width()));
  for (const error& each : result.errors) say_error(each);
  if (!written) return tl::make_unexpected(written.error());
  if (!printed) return tl::make_unexpected(printed.error());
  return status_of_errors(result.errors);
}

expected<exit_status> train(const train_options& options) {
  if (!options.output.empty()) TROUPE_TRY(check_writable_directory(options.output, {train_file}));
  const auto interrupt = TROUPE_TRY(eval_interrupt::start());
  const auto live = TROUPE_TRY(live_report::start(options.run.log));
  auto created = trainer::create(for_trainer(options), live->training_hooks());
  if (!created) return leave(tl::make_unexpected(created.error()));
  trainer& training = **created;
  interrupt->attach([&](stop_kind kind) { training.request_stop(kind); });
  auto result = training.run();
  if (!training.stuck()) live->finish();
  auto status =
      result ? deliver_training(options, *result) : expected<exit_status>(tl::make_unexpected(result.error()));
  interrupt->detach();
  return leave(std::move(status));
}

}  // namespace

expected<exit_status> run_train(const arguments& given) {
  const program self(0, nullptr);
  parser reader("train",
                "Train a model on data through a pipeline of stages.\n"
                "Ctrl-C once ends after the step under way, and saves it where --save is given; twice stops at once.",
                train_examples);
  const train_flags flags(reader);
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  const auto options = TROUPE_TRY(flags.read());
  // a worker never comes back from here
  if (program::worker() != nullptr || program::is_probe()) {
    return trainer::create(for_trainer(options)).map([](const auto&) { return exit_status::ok; });
  }
  return train(options);
}

}  // namespace troupe::cli
