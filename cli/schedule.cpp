#include <fmt/format.h>

#include "command.hpp"
#include "count_flag.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "output.hpp"
#include "parse.hpp"
#include "runtime/schedule/schedule_text.hpp"

namespace troupe::cli {
namespace {

struct schedule_flags {
  std::string kind;
  std::string micro_batches;
  std::string stages;
  bool json = false;
};

expected<schedule_shape> read_shape(const schedule_flags& flags) {
  const auto kind = TROUPE_TRY(parse_schedule_kind(flags.kind));
  const auto micro_batches = TROUPE_TRY(read_count("micro_batches", flags.micro_batches, limits::schedule_cells_max));
  const auto stages = TROUPE_TRY(read_count("stages", flags.stages, limits::stages_max));
  return schedule_shape{kind, micro_batches, static_cast<std::uint32_t>(stages)};
}

expected<std::string> schedule_text(const schedule_shape& shape, bool as_json) {
  if (!as_json) return schedule_grid(shape, output_width());
  return schedule_json(shape).map([](const std::string& text) { return text + "\n"; });
}

}  // namespace

expected<exit_status> run_schedule(const arguments& given) {
  schedule_flags flags;
  parser reader("schedule", "Print what every stage does at every step of a pipeline schedule.",
                "  troupe schedule --kind inference --micro-batches 4 --stages 3\n"
                "  troupe schedule --kind train --micro-batches 8 --stages 4 --json\n");
  reader.add_text("--kind", flags.kind, "inference, train (1F1B) or data-parallel", "KIND", parser::presence::required);
  reader.add_text("--micro-batches", flags.micro_batches, "Micro-batches of one batch", "M",
                  parser::presence::required);
  reader.add_text("--stages", flags.stages, "Stages of the pipeline", "S", parser::presence::required);
  reader.add_toggle("--json", flags.json, "Print one JSON object: steps[stage][step] = instructions");
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  return read_shape(flags)
      .and_then([&](const schedule_shape& shape) { return schedule_text(shape, flags.json); })
      .and_then([](const std::string& text) { return print(text); })
      .map([] { return exit_status::ok; });
}

}  // namespace troupe::cli
