#include "process_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>

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
  auto made = pipeline_variant::start(work, {.stages = which.stages,
                                             .num_pipe_buffers = which.buffers(),
                                             .workers = options_of(which, work.data->classes())});
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
  static expected<std::unique_ptr<contestants>> gather(const workload& work, variant_choice choice) {
    std::unique_ptr<contestants> made(new contestants(work));
    const bool all = choice == variant_choice::all;
    const worker_case two{work.model, 2};
    const worker_case four{work.model, 4};
    const auto variation = [](worker_case of, auto change) {
      change(of);
      return of;
    };
    const std::vector<std::pair<std::string, worker_case>> cases = {
        {variant::processes, two},
        {variant::processes_quiet, variation(two, [](worker_case& one) { one.heartbeat = no_heartbeat; })},
        {variant::processes_tcp, variation(two, [](worker_case& one) { one.over = worker_case::edges::tcp; })},
        {variant::processes_tcp_plain,
         variation(two, [](worker_case& one) { one.over = worker_case::edges::tcp_without_crc; })},
        {variant::four_processes, four},
        {variant::four_shallow, variation(four, [](worker_case& one) { one.num_pipe_buffers = 2; })},
        {variant::shallow, variation(two, [](worker_case& one) { one.num_pipe_buffers = 2; })}};
    auto done = made->add(variant::one_process, pipeline_variant::start(work, {.stages = 2}));
    if (done && all) done = made->add(variant::four_one_process, pipeline_variant::start(work, {.stages = 4}));
    for (const auto& [name, which] : cases) {
      if (done && (all || name == variant::processes)) done = made->add(name, start_workers(work, which));
    }
    if (!done) return tl::make_unexpected(done.error());
    auto alone = lone_stages::prepare(work, made->piped_.at(variant::one_process).boundaries());
    if (!alone) return tl::make_unexpected(alone.error());
    made->alone_ = std::move(*alone);
    return made;
  }

  [[nodiscard]] const plain_loop& plain() const { return plain_; }

  std::vector<turn> turns(std::uint64_t count, variant_choice choice) {
    const auto lone = [this, count](const std::string& name, std::size_t stage) {
      return turn{name, [this, count, stage] { return alone_->run(work_, stage, count); }, false};
    };
    std::vector<turn> made = {
        {variant::plain, [this, count] { return plain_.run(work_, count); }},
        lone(variant::alone_0, 0),
        lone(variant::alone_1, 1),
        {variant::side_by_side, [this, count] { return alone_->run_side_by_side(work_, count); }, false}};
    for (auto& [name, running] : piped_) {
      made.push_back({name, [this, count, &one = running] { return run_piped(one, count, false); }});
    }
    if (choice == variant_choice::efficiency) return made;
    for (const auto& [name, of] : {std::pair{variant::one_process_journal, variant::one_process},
                                   std::pair{variant::processes_journal, variant::processes}}) {
      made.push_back({name, [this, count, &one = piped_.at(of)] { return run_piped(one, count, true); }});
    }
    return made;
  }

 private:
  explicit contestants(const workload& work) : work_(work), plain_(plain_loop::by_layer(work, 1)) {}

  expected<void> add(const std::string& name, expected<pipeline_variant> started) {
    if (!started) return tl::make_unexpected(started.error());
    piped_.emplace(name, std::move(*started));
    return {};
  }

  expected<measurement> run_piped(pipeline_variant& which, std::uint64_t count, bool with_journal) {
    const auto journal = with_journal ? make_journal() : nullptr;
    auto taken = which.run(work_, count, journal);
    if (!journal || !taken) return taken;
    return journal->close().map([&] { return std::move(*taken); });
  }

  const workload& work_;
  plain_loop plain_;
  std::optional<lone_stages> alone_;
  std::map<std::string, pipeline_variant> piped_;
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

expected<measured_processes> measure_processes(const workload& work, const round_options& options,
                                               variant_choice choice) {
  auto all = contestants::gather(work, choice);
  if (!all) return tl::make_unexpected(all.error());
  const auto count = choose_count(work, (*all)->plain(), options.seconds);
  if (!count) return tl::make_unexpected(count.error());
  measured_processes made{.model = work.model,
                          .micro_batch = work.micro_batch,
                          .micro_batches = *count,
                          .even = work.even,
                          .rounds = {},
                          .different = {}};
  auto turns = (*all)->turns(*count, choice);
  std::mt19937 order;
  const auto reference = (*all)->plain().run(work, *count);
  if (!reference) return tl::make_unexpected(reference.error());
  for (std::size_t round = 0; round < options.rounds; ++round) {
    variant_times times;
    std::ranges::shuffle(turns, order);
    for (const turn& next : turns) {
      const auto taken = next.run();
      if (!taken) return tl::make_unexpected(taken.error());
      times[next.name] = taken->us_per_micro_batch;
      if (!next.comparable) continue;
      if (!same_bits(reference->values, taken->values)) made.different.push_back(next.name);
    }
    if (round > 0) made.rounds.push_back(std::move(times));
  }
  return made;
}

}  // namespace troupe::bench
