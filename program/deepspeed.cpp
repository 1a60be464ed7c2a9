#include <utility>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/config/deepspeed_config.hpp"
#include "runtime/data/cast_names.hpp"
#include <troupe/pipeline_engine.hpp>

namespace troupe {

expected<deepspeed_settings> read_deepspeed_settings(const std::string& file, std::uint32_t replicas) {
  if (replicas < 1 || replicas > limits::replicas_max) {
    return fail(error_code::value_out_of_range, "replicas",
                fmt::format("{}, expected a whole number from 1 to {}", replicas, limits::replicas_max),
                "give the replicas that the engine gets");
  }
  deepspeed_config config = TROUPE_TRY(read_deepspeed_config(file));
  const batch_sizes sizes = TROUPE_TRY(batch_of(config, replicas));
  deepspeed_settings read{.train_batch_size = static_cast<std::uint64_t>(sizes.train_batch_size),
                          .micro_batch = static_cast<std::uint64_t>(sizes.micro_batch),
                          .gradient_accumulation_steps = static_cast<std::uint64_t>(sizes.accumulation_steps)};
  for (const setting& each : config.settings) {
    if (each.target->name == "stages") read.stages = static_cast<std::uint32_t>(std::get<std::int64_t>(each.value));
    if (each.target->name == "partition") read.partition = std::get<std::string>(each.value);
    if (each.target->name == "dtype") read.dtype = cast_type(std::get<std::string>(each.value));
  }
  read.warnings = std::move(config.warnings);
  return read;
}

}  // namespace troupe
