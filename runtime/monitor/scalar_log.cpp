#include <cctype>
#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "runtime/monitor/scalar_targets.hpp"

namespace troupe {

tl::unexpected<error> not_for_scalars(const std::filesystem::path& target, const std::string& cause) {
  return fail(error_code::output_unwritable, target.string(), cause,
              "name another one: FILE.csv, FILE.jsonl, or a folder for TensorBoard");
}

bool is_reserved(std::string_view name) noexcept {
  return name == "wall_time" || name == "step";
}

expected<void> check_scalars(std::uint64_t step, std::span<const scalar> scalars) {
  constexpr std::size_t scalars_max = 10'000;
  constexpr std::size_t name_bytes_max = 1000;
  if (step > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return fail(error_code::value_out_of_range, "step", fmt::format("{} is more than 2^63 - 1", step),
                "give the step of the checkpoint");
  }
  if (scalars.size() > scalars_max) {
    return fail(error_code::value_out_of_range, "scalars",
                fmt::format("{} are more than {}", scalars.size(), scalars_max), "write them in several calls");
  }
  for (const scalar& each : scalars) {
    if (!each.name.empty() && !is_reserved(each.name) && each.name.size() <= name_bytes_max) continue;
    return fail(error_code::value_out_of_range, "scalars",
                fmt::format("'{}' is no name of a scalar", each.name.substr(0, name_bytes_max)),
                fmt::format("give it a name of 1 to {} bytes, such as eval/accuracy", name_bytes_max));
  }
  return {};
}

double wall_seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

namespace {

/// "metrics.txt", where who wrote it hardly expects a new folder. "run-0.5" is one.
bool looks_like_a_file(const std::filesystem::path& target, const std::filesystem::path& ending) {
  const std::string text = ending.string();
  const bool has_ending = text.size() > 1 && std::isalpha(static_cast<unsigned char>(text[1])) != 0;
  std::error_code none;
  return has_ending && !std::filesystem::is_directory(target, none);
}

}  // namespace

expected<std::unique_ptr<scalar_log>> scalar_log::open(const std::filesystem::path& target) {
  const auto ending = target.extension();
  if (ending != ".csv" && ending != ".jsonl" && looks_like_a_file(target, ending)) {
    const std::string stem = (target.parent_path() / target.stem()).string();
    return fail(
        error_code::value_out_of_range, "log_scalars",
        fmt::format("the name \"{}\" ends in {}, and there is no such format", target.string(), ending.string()),
        fmt::format("write {0}.csv or {0}.jsonl, or {1}/ for a folder for TensorBoard", stem, target.string()));
  }
  return ending == ".csv" || ending == ".jsonl" ? open_scalar_rows(target) : open_event_files(target);
}

}  // namespace troupe
