#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "child_run.hpp"
#include "command.hpp"
#include "count_flag.hpp"
#include "interrupt.hpp"
#include "messages/limits.hpp"
#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "option_flags.hpp"
#include "option_words.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "private_folder.hpp"
#include "runtime/report/option_json.hpp"
#include "watch_report.hpp"

namespace troupe::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* watch_examples =
    "  troupe watch runs/7 --arch resnet20-cifar --data cifar10:data/cifar10 --patience 3\n"
    "  troupe watch runs/7 --model net.pt --data mnist:data/mnist --monitor cross_entropy --log-scalars runs/7/tb\n"
    "  troupe watch trained --data npz:test.npz --once --json    (folders of transformers)\n";

constexpr double patience_max = 1e9;
/// An evaluation takes as long as it takes; --deadline is passed on.
constexpr auto child_patience = std::chrono::hours(24 * 365);

/// Options of which each evaluation would overwrite what the one before has written.
constexpr std::array<std::string_view, 7> refused = {"weights", "output",      "journal",         "resume",
                                                     "trace",   "predictions", "predictions_with"};
/// What this command obeys itself.
constexpr std::array<std::string_view, 3> own_flags = {"json", "log_scalars", "log_step"};
/// Options that change no bit of a result, or cannot be given.
constexpr std::array<std::string_view, 27> without_effect = {
    "data_workers",     "weights", "stages",     "replicas",  "threads",        "layers",         "partition",
    "num_pipe_buffers", "device",  "processes",  "transport", "worker_timeout", "start_deadline", "forward_deadline",
    "checksums",        "journal", "resume",     "deadline",  "fault",          "output",         "log_scalars",
    "log_step",         "log",     "log_format", "log_level", "json",           "trace"};

struct watch_flags {
  std::string folder;
  std::string monitor;
  std::string mode;
  std::string patience;
  std::string timeout;
  std::string settle;
  std::string wait;
  std::string state;
  bool once = false;
};

struct watch_command {
  watch_request request;
  eval_options options;
  /// For each evaluation, without the checkpoint.
  arguments words;
  /// "--weights" or "--model".
  std::string checkpoint_flag;
};

void add_flags(parser& reader, watch_flags& own) {
  reader.add_text("DIR", own.folder, "The folder in which checkpoints appear", "DIR", parser::presence::required);
  reader.add_text("--monitor", own.monitor, "The number that says which checkpoint is best [the first metric's]",
                  "METRIC[.FIELD]");
  reader.add_text("--mode", own.mode, "max or min: whether more or less is better [by the metric]", "MODE");
  reader.add_text("--patience", own.patience, "End after so many checkpoints in a row that are no better", "N");
  reader.add_toggle("--once", own.once, "Evaluate the checkpoints that are there, and end");
  reader.add_text("--timeout", own.timeout, "End when nothing has changed for so long", "SECONDS");
  reader.add_text("--settle", own.settle, "A checkpoint is whole when it has not changed for so long [1]", "SECONDS");
  reader.add_text("--wait", own.wait, "One that cannot be read has failed when it has not changed for so long [60]",
                  "SECONDS");
  reader.add_text("--state", own.state, "The folder of the table [DIR/troupe-watch]", "FOLDER");
}

nlohmann::ordered_json pinned(const eval_options& options) {
  nlohmann::ordered_json made = options_json(options);
  for (const std::string_view name : without_effect) made.erase(std::string(name));
  return made;
}

expected<bool> larger_is_better(const watch_flags& own, const std::string& metric) {
  if (own.mode.empty()) return !is_loss(metric);
  if (own.mode == "max" || own.mode == "min") return own.mode == "max";
  return fail(error_code::unknown_name, "--mode", fmt::format("'{}' is neither max nor min", own.mode),
              "write --mode max or --mode min");
}

expected<watch_request> request_of(const watch_flags& own, const eval_options& options) {
  watch_request made{.folder = own.folder, .once = own.once};
  made.state = own.state.empty() ? fs::path(own.folder) / "troupe-watch" : fs::path(own.state);
  const std::string monitor = own.monitor.empty() && !options.metrics.empty() ? options.metrics.front() : own.monitor;
  made.monitor = TROUPE_TRY(monitored_value::read(monitor, options.metrics));
  made.larger_is_better = TROUPE_TRY(larger_is_better(own, made.monitor.metric));
  if (!own.patience.empty()) made.patience = TROUPE_TRY(read_count("patience", own.patience, patience_max));
  if (!own.timeout.empty()) made.timeout = TROUPE_TRY(read_seconds("timeout", own.timeout, 0));
  if (!own.settle.empty()) made.waits.settle = TROUPE_TRY(read_seconds("settle", own.settle, 0));
  if (!own.wait.empty()) made.waits.wait = TROUPE_TRY(read_seconds("wait", own.wait, 0));
  made.options = pinned(options);
  return made;
}

expected<watch_command> read_command(const option_flags& flags, const watch_flags& own) {
  TROUPE_TRY(refuse_launch("watch", "start troupe watch without troupe launch"));
  auto resolved = TROUPE_TRY(flags.resolve());
  TROUPE_TRY(refuse_given(resolved, refused, "watch evaluates many checkpoints, and keeps a table of all"));
  watch_command made;
  made.options = resolved.options;
  made.words = words_of(resolved, own_flags);
  for (const std::string& each : resolved.options.run.faults.texts())
    made.words.insert(made.words.end(), {"--fault", each});
  const bool has_model = !resolved.options.model.empty() || !resolved.options.arch.empty();
  made.checkpoint_flag = has_model ? "--weights" : "--model";
  (has_model ? resolved.options.weights : resolved.options.model) = own.folder;
  TROUPE_TRY(check_together(resolved));
  made.request = TROUPE_TRY(request_of(own, made.options));
  return made;
}

/// One evaluation after the other, each by a command of its own, so that a model that crashes ends no watch.
class checkpoint_runs {
 public:
  checkpoint_runs(child_runner& children, const fs::path& folder, const watch_command& asked)
      : children_(children), output_(folder / "run"), asked_(asked) {}

  expected<nlohmann::ordered_json> evaluate(const seen_checkpoint& which) {
    const std::string path = (asked_.request.folder / which.name).string();
    arguments words{"eval"};
    words.insert(words.end(), asked_.words.begin(), asked_.words.end());
    words.insert(words.end(), {asked_.checkpoint_flag, path, "--output", output_.string()});
    std::error_code ignored;
    fs::remove_all(output_, ignored);
    const auto ended = TROUPE_TRY(children_.run(which.name, words, child_patience, [](std::string_view line) {
      if (line.starts_with("warning: ")) say(fmt::format("  | {}\n", printable_lines(line)));
    }));
    if (ended.report.kind != exit_kind::exited || ended.report.value != 0) return failure(path, ended.report);
    return metrics();
  }

 private:
  static tl::unexpected<error> failure(const std::string& path, const exit_report& report) {
    if (report.told) return tl::make_unexpected(*report.told);
    return fail(error_code::model_crashed, path, "its evaluation " + report.outcome(),
                "evaluate it alone, with troupe eval");
  }

  [[nodiscard]] expected<nlohmann::ordered_json> metrics() const {
    const auto text = read_small_file(output_ / "result.json", limits::chaos_result_bytes_max);
    auto result = nlohmann::ordered_json::parse(text.value_or(""), nullptr, false);
    if (result.is_object() && result.contains("metrics")) return std::move(result["metrics"]);
    return fail(error_code::process_failed, "troupe eval", "it left no result.json",
                "look for space in the folder /tmp");
  }

  child_runner& children_;
  const fs::path output_;
  const watch_command& asked_;
};

/// Whether the watch was interrupted, for all its threads.
class interruption {
 public:
  void set(child_runner* running) {
    const std::lock_guard lock(mutex_);
    running_ = running;
  }
  void interrupt() {
    const std::lock_guard lock(mutex_);
    is_interrupted_ = true;
    changed_.notify_all();
    if (running_ != nullptr) running_->interrupt();
  }
  /// False: interrupted.
  bool pause(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, time, [&] { return is_interrupted_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_interrupted_ = false;
  child_runner* running_ = nullptr;
};

exit_status status_of_report(const watch_report& report) {
  if (report.stop == watch_stop::interrupted) return exit_status::interrupted;
  const bool all_failed =
      std::ranges::all_of(report.rows, [](const watch_row& row) { return row.problem.has_value(); });
  return all_failed && !report.rows.empty() ? exit_status::failure : exit_status::ok;
}

expected<exit_status> watch_folder(const watch_command& asked) {
  interruption stop;
  const auto signals = TROUPE_TRY(interrupt_watch::start([&](int) { stop.interrupt(); }));
  const auto children = TROUPE_TRY(child_runner::create("watch"));
  const auto folder = TROUPE_TRY(private_folder::make());
  std::unique_ptr<scalar_log> scalars;
  if (!asked.options.log_scalars.empty()) scalars = TROUPE_TRY(scalar_log::open(asked.options.log_scalars));
  checkpoint_runs runs(*children, folder->path(), asked);
  watch_means means;
  means.evaluate = [&](const seen_checkpoint& which) { return runs.evaluate(which); };
  means.pause = [&](std::chrono::milliseconds time) { return stop.pause(time); };
  means.tell = [](const watch_row& row, bool is_best) { say(row_line(row, is_best)); };
  means.tell_doubt = [](const seen_checkpoint& which, const error& cause) {
    say(fmt::format("step {}  {}  is waited for: {}\n", which.step, printable(which.name), printable(cause.cause)));
  };
  means.scalars = scalars.get();
  stop.set(children.get());
  const auto report = watch(asked.request, means);
  stop.set(nullptr);
  if (!report) return tl::make_unexpected(report.error());
  TROUPE_TRY(print(asked.options.json ? watch_json(asked.request, *report)
                                      : watch_table_text(asked.request, *report, output_width())));
  return status_of_report(*report);
}

}  // namespace

expected<exit_status> run_watch(const arguments& given) {
  parser reader("watch",
                "Evaluate checkpoints as they appear in a folder, each once, and name the best.\n"
                "A checkpoint takes the place of --weights, or of --model where neither --model nor --arch is given.",
                watch_examples);
  watch_flags own;
  add_flags(reader, own);
  const option_flags flags(reader);
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  return read_command(flags, own).and_then([](const watch_command& asked) { return watch_folder(asked); });
}

}  // namespace troupe::cli
