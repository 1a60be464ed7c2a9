#include "scalar_output.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "messages/printable.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "program/topology/eval_topology.hpp"
#include "runtime/checkpoint/checkpoint_layout.hpp"

namespace troupe::cli {

std::uint64_t step_of(const eval_options& options) {
  if (options.log_step) return *options.log_step;
  std::filesystem::path path = model_name(options);
  if (is_checkpoint(path)) {
    if (const auto tag = latest_tag(path)) path = *tag;
  }
  if (!path.has_filename()) path = path.parent_path();
  const auto step = checkpoint_step(path);
  return step ? *step : checkpoint_step(path.parent_path()).value_or(0);
}

expected<scalar_output> scalar_output::open(const eval_options& options) {
  scalar_output made;
  if (!options.log_scalars.empty()) made.log_ = TROUPE_TRY(scalar_log::open(options.log_scalars));
  return made;
}

expected<void> scalar_output::write(const run_result& result) {
  if (log_ == nullptr || result.partial) return {};
  const std::uint64_t step = step_of(result.config);
  const auto written = TROUPE_TRY(log_->write(step, scalars_of(result)));
  const std::string target = printable(result.config.log_scalars);
  say(written == 0
          ? fmt::format("{} has the scalars of step {} already\n", target, step)
          : fmt::format("wrote {} scalar{} of step {} to {}\n", written, written == 1 ? "" : "s", step, target));
  return {};
}

}  // namespace troupe::cli
