#include "contestants.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "../children.hpp"
#include "../spread.hpp"
#include "messages/try.hpp"
#include "process_worker.hpp"

namespace troupe::bench {
namespace {

/// The machine's speed changes: one look at each stage could take the wrong one for the slowest.
constexpr std::uint32_t turns_alone = 5;

/// Variants of the same pipeline, which differ in what the call asks for.
const std::string& pipeline_of(const std::string& name) {
  if (name == variant::one_process_journal) return variant::one_process;
  if (name == variant::processes_journal) return variant::processes;
  return name;
}

expected<pipeline_variant> start_workers(const workload& work, const worker_case& which) {
  const std::size_t there = workers().size();
  announce(which);
  auto made = pipeline_variant::start(work, {.stages = which.stages, .workers = options_of(which)});
  if (!made) return made;
  // With the spare, which reads what was announced, too.
  if (!await_rest(there + which.stages + 1)) return fail(error_code::internal, work.model, "its workers do not start");
  return made;
}

/// A file without a name for others, on the disk where results would be.
std::shared_ptr<journal_writer> make_journal() {
  const std::string folder = std::filesystem::temp_directory_path();
  return std::make_shared<journal_writer>(unique_fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)),
                                          folder);
}

}  // namespace

expected<std::unique_ptr<contestants>> contestants::gather(const workload& work) {
  auto plain = TROUPE_TRY(plain_loop::rewritten(work, 1));
  std::unique_ptr<contestants> made(new contestants(work, std::move(plain)));
  TROUPE_TRY(made->prepare(variant::one_process));
  made->alone_ = TROUPE_TRY(lone_stages::prepare(work, made->piped_.at(variant::one_process).boundaries()));
  return made;
}

bool contestants::is_comparable(const std::string& name) {
  return name != variant::slowest_alone && name != variant::side_by_side;
}

expected<void> contestants::prepare(const std::string& name) {
  const std::string& piped = pipeline_of(name);
  if (piped == variant::plain || !is_comparable(piped) || piped_.contains(piped)) return {};
  auto started = TROUPE_TRY(start(piped));
  piped_.emplace(piped, std::move(started));
  return {};
}

expected<pipeline_variant> contestants::start(const std::string& name) const {
  if (name == variant::one_process) return pipeline_variant::start(work_, {.stages = 2});
  if (name == variant::four_one_process) return pipeline_variant::start(work_, {.stages = 4});
  worker_case which{work_.model, name == variant::four_processes ? 4u : 2u};
  if (name == variant::processes_quiet) which.heartbeats = false;
  if (name == variant::processes_tcp) which.over = worker_case::edges::tcp;
  if (name == variant::processes_tcp_plain) which.over = worker_case::edges::tcp_without_crc;
  return start_workers(work_, which);
}

expected<measurement> contestants::run(const std::string& name, std::uint64_t count) {
  if (name == variant::plain) return plain_.run(work_, count);
  if (name == variant::slowest_alone) return alone_->run(work_, slowest_, count);
  if (name == variant::side_by_side) return alone_->run_side_by_side(work_, count);
  return run_piped(pipeline_of(name), count, name != pipeline_of(name));
}

expected<measurement> contestants::run_piped(const std::string& name, std::uint64_t count, bool with_journal) {
  const auto journal = with_journal ? make_journal() : nullptr;
  auto taken = piped_.at(name).run(work_, count, journal);
  if (!journal || !taken) return taken;
  return journal->close().map([&] { return std::move(*taken); });
}

expected<std::uint64_t> contestants::count_for(double seconds) const {
  const std::uint64_t some = std::min<std::uint64_t>(64, work_.micro_batches_max());
  auto taken = plain_.run(work_, some);
  if (taken) taken = plain_.run(work_, some);  // the first one warms up
  if (!taken) return tl::make_unexpected(taken.error());
  const auto fitting = static_cast<std::uint64_t>(std::lround(seconds * 1e6 / taken->us_per_micro_batch));
  return std::clamp<std::uint64_t>(fitting, 8, work_.micro_batches_max());
}

expected<void> contestants::find_slowest_stage(std::uint64_t count) {
  std::vector<std::vector<double>> us(alone_->count());
  for (std::uint32_t turn = 0; turn < turns_alone; ++turn) {
    for (std::size_t stage = 0; stage < us.size(); ++stage) {
      const auto taken = TROUPE_TRY(alone_->run(work_, stage, count));
      us[stage].push_back(taken.us_per_micro_batch);
    }
  }
  std::vector<double> medians;
  for (auto& each : us) medians.push_back(spread_of(std::move(each)).median);
  slowest_ = static_cast<std::size_t>(std::ranges::max_element(medians) - medians.begin());
  slowest_us_ = std::ranges::max(medians);
  other_us_ = std::ranges::min(medians);
  return {};
}

}  // namespace troupe::bench
