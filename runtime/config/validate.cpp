#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/config/resolve.hpp"

namespace troupe {
namespace {

std::string source_of(const resolved_options& resolved, std::string_view name) {
  const origin& from = resolved.from(name);
  return from.kind == origin_kind::flag ? from.where : fmt::format("{} ({})", name, from.where);
}

expected<void> check_present(const std::string& value, std::string_view name) {
  if (!value.empty()) return {};
  const option& target = *find_option(name);
  return fail(error_code::missing_flag, flag_name(target), fmt::format("no {} is given", name),
              fmt::format("add {} {}", flag_name(target), target.value_name));
}

expected<void> check_processes(const resolved_options& resolved) {
  const auto found = find_contradiction(resolved.options.run);
  if (!found) return {};
  return fail(error_code::flags_contradict, source_of(resolved, found->option), found->cause, found->flag_fix);
}

}  // namespace

namespace {

/// The first option that is set where there are no workers and that means something to workers alone.
std::optional<contradiction> find_idle_option(const run_options& options) {
  const worker_options defaults;
  const auto idle = [](const char* option, const char* cause) {
    return contradiction{option, cause, "set workers.enabled", "add --processes"};
  };
  if (options.workers.transport == transport_kind::nccl) return idle("transport", "nccl edges are between processes");
  if (options.workers.transport == transport_kind::tcp) return idle("transport", "tcp edges are between processes");
  if (options.workers.forward_deadline)
    return idle("forward_deadline", "a forward inside the program's own process cannot be ended");
  if (options.workers.timeout != defaults.timeout) return idle("worker_timeout", "there are no workers");
  if (options.workers.start_deadline != defaults.start_deadline) return idle("start_deadline", "there are no workers");
  if (options.workers.checksums) return idle("checksums", "there are no edges between processes");
  return std::nullopt;
}

}  // namespace

std::optional<contradiction> find_contradiction(const run_options& options) {
  if (options.workers.enabled && options.workers.transport == transport_kind::inproc) {
    return contradiction{"transport", "inproc edges do not leave a process", "leave it out",
                         "leave out one of --transport inproc and --processes"};
  }
  if (!options.workers.enabled) {
    if (auto found = find_idle_option(options)) return found;
  }
  if (options.workers.enabled && options.trace) {
    return contradiction{"trace", "a trace is recorded inside one process", "leave it out",
                         "leave out --trace or --processes"};
  }
  if (options.journal.resume && options.journal.file.empty()) {
    return contradiction{"resume", "there is no journal to go on with", "name its file", "add --journal FILE"};
  }
  return std::nullopt;
}

expected<void> check_together(const resolved_options& resolved) {
  const eval_options& options = resolved.options;
  if (options.run.trace && options.output.empty()) {
    return fail(error_code::flags_contradict, source_of(resolved, "trace"), "there is no directory for trace.jsonl",
                "add --output DIR");
  }
  if (options.predictions.with != prediction_extra::none && options.predictions.file.empty()) {
    return fail(error_code::flags_contradict, source_of(resolved, "predictions_with"), "no predictions are written",
                "add --predictions FILE.jsonl");
  }
  if (options.log_step && options.log_scalars.empty()) {
    return fail(error_code::flags_contradict, source_of(resolved, "log_step"), "there is no place for scalars",
                "add --log-scalars TARGET");
  }
  TROUPE_TRY(check_processes(resolved));
  TROUPE_TRY(check_model_given(resolved));
  return check_present(options.data, "data");
}

expected<void> check_model_given(const resolved_options& resolved) {
  const eval_options& options = resolved.options;
  if (!options.model.empty() && !options.arch.empty()) {
    return fail(error_code::flags_contradict, source_of(resolved, "arch"), "a model is given, too",
                "leave out --model or --arch");
  }
  if (!options.arch.empty()) return check_present(options.weights, "weights");
  if (!options.model.empty()) return {};
  const std::string flag = flag_name(*find_option("model"));
  if (options.weights.empty()) {
    return fail(error_code::missing_flag, flag, "no model is given",
                "add --model FILE, or --arch NAME and --weights FILE");
  }
  return fail(error_code::missing_flag, flag, "weights are given, and no model for them",
              "add --arch NAME for an architecture that is built in, or --model FILE for an exported model; where the "
              "weights have a config.json beside them, give that folder alone: --model FOLDER");
}

}  // namespace troupe
