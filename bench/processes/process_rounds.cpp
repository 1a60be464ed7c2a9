#include "process_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>

#include <fcntl.h>
#include <unistd.h>

#include "../children.hpp"
#include "../loops.hpp"
#include "../pipeline_variant.hpp"
#include "../same_bits.hpp"
#include "process_worker.hpp"

namespace troupe::bench {
namespace {

/// An interval that no measurement sees the end of.
constexpr std::chrono::hours no_heartbeat{1};

struct turn {
  std::string name;
  std::function<expected<measurement>()> run;
  bool comparable = true;
};

expected<pipeline_variant> start_workers(const workload& work, const worker_case& which) {
  const std::size_t there = children().size();
  announce(which);
  auto made =
      pipeline_variant::start(work, {.stages = which.stages, .workers = options_of(which, work.data->classes())});
  if (!made) return made;
  // With the spare, which reads what was announced, too.
  if (!await_rest(there + which.stages + 1)) return fail(error_code::internal, work.model, "its workers do not start");
  return made;
}

/// A file that nobody else sees, on the disk where results would be.
std::shared_ptr<journal_writer> make_journal() {
  const std::string folder = std::filesystem::temp_directory_path();
  return std::make_shared<journal_writer>(unique_fd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)),
                                          folder);
}

class contestants {
 public:
  static expected<std::unique_ptr<contestants>> gather(const workload& work) {
    std::unique_ptr<contestants> made(new contestants(work));
    const auto add = [&](std::optional<pipeline_variant>& into, expected<pipeline_variant> started) -> expected<void> {
      if (!started) return tl::make_unexpected(started.error());
      into = std::move(*started);
      return {};
    };
    auto done = add(made->two_here_, pipeline_variant::start(work, {.stages = 2}))
                    .and_then([&] { return add(made->four_here_, pipeline_variant::start(work, {.stages = 4})); })
                    .and_then([&] {
                      return add(made->two_there_, start_workers(work, {work.model, 2}));
                    })
                    .and_then([&] {
                      return add(made->quiet_, start_workers(work, {work.model, 2, no_heartbeat}));
                    })
                    .and_then([&] {
                      return add(made->four_there_, start_workers(work, {work.model, 4}));
                    });
    if (!done) return tl::make_unexpected(done.error());
    auto alone = lone_stages::prepare(work, made->two_here_->boundaries());
    if (!alone) return tl::make_unexpected(alone.error());
    made->alone_ = std::move(*alone);
    return made;
  }

  [[nodiscard]] const plain_loop& plain() const { return plain_; }

  /// Those that are compared stand beside each other.
  std::vector<turn> turns(std::uint64_t count) {
    const auto piped = [this, count](std::optional<pipeline_variant>& which, bool journal) {
      return [this, count, &which, journal] { return run_piped(*which, count, journal); };
    };
    const auto lone = [this, count](std::size_t stage) {
      return [this, count, stage] { return alone_->run(work_, stage, count); };
    };
    return {{variant::plain, [this, count] { return plain_.run(work_, count); }},
            {variant::alone_0, lone(0), false},
            {variant::alone_1, lone(1), false},
            {variant::one_process, piped(two_here_, false)},
            {variant::one_process_journal, piped(two_here_, true)},
            {variant::processes_journal, piped(two_there_, true)},
            {variant::processes, piped(two_there_, false)},
            {variant::processes_quiet, piped(quiet_, false)},
            {variant::four_processes, piped(four_there_, false)},
            {variant::four_one_process, piped(four_here_, false)}};
  }

 private:
  explicit contestants(const workload& work) : work_(work), plain_(plain_loop::by_layer(work, 1)) {}

  expected<measurement> run_piped(pipeline_variant& which, std::uint64_t count, bool with_journal) {
    const auto journal = with_journal ? make_journal() : nullptr;
    auto taken = which.run(work_, count, journal);
    if (!journal || !taken) return taken;
    return journal->close().map([&] { return std::move(*taken); });
  }

  const workload& work_;
  plain_loop plain_;
  std::optional<lone_stages> alone_;
  std::optional<pipeline_variant> two_here_;
  std::optional<pipeline_variant> four_here_;
  std::optional<pipeline_variant> two_there_;
  std::optional<pipeline_variant> quiet_;
  std::optional<pipeline_variant> four_there_;
};

expected<std::uint64_t> choose_count(const workload& work, const plain_loop& plain, double seconds) {
  const std::uint64_t some = std::min<std::uint64_t>(64, work.micro_batches_max());
  auto taken = plain.run(work, some);
  if (taken) taken = plain.run(work, some);  // the first one warms up
  if (!taken) return tl::make_unexpected(taken.error());
  const auto fitting = static_cast<std::uint64_t>(std::lround(seconds * 1e6 / taken->us_per_micro_batch));
  return std::clamp<std::uint64_t>(fitting, 8, work.micro_batches_max());
}

}  // namespace

expected<measured_processes> measure_processes(const workload& work, const round_options& options) {
  auto all = contestants::gather(work);
  if (!all) return tl::make_unexpected(all.error());
  const auto count = choose_count(work, (*all)->plain(), options.seconds);
  if (!count) return tl::make_unexpected(count.error());
  measured_processes made{.model = work.model,
                          .micro_batch = work.micro_batch,
                          .micro_batches = *count,
                          .even = work.even,
                          .rounds = {},
                          .different = {}};
  const auto turns = (*all)->turns(*count);
  std::optional<std::vector<metric_value>> reference;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    variant_times times;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      const turn& next = turns[(i + round) % turns.size()];
      const auto taken = next.run();
      if (!taken) return tl::make_unexpected(taken.error());
      times[next.name] = taken->us_per_micro_batch;
      if (!next.comparable) continue;
      if (!reference) reference = taken->values;
      if (!same_bits(*reference, taken->values)) made.different.push_back(next.name);
    }
    if (round > 0) made.rounds.push_back(std::move(times));
  }
  return made;
}

}  // namespace troupe::bench
