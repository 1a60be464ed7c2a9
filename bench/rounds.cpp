#include "rounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "loops.hpp"
#include "messages/try.hpp"
#include "pipeline_variant.hpp"
#include "same_bits.hpp"

namespace troupe::bench {
namespace {

constexpr std::uint64_t micro_batches_min = 8;
/// A first guess at a pass's time that lasted this long is good enough to choose the number of micro-batches by.
constexpr double guess_seconds_min = 0.02;

expected<std::uint64_t> choose_micro_batches(const workload& work, const plain_loop& plain, double seconds) {
  const std::uint64_t most = work.micro_batches_max();
  for (std::uint64_t tried = std::min(micro_batches_min, most);; tried = std::min(tried * 4, most)) {
    const auto taken = TROUPE_TRY(plain.run(work, tried));
    const double seconds_each = taken.us_per_micro_batch * 1e-6;
    if (tried < most && seconds_each * static_cast<double>(tried) < guess_seconds_min) continue;
    const auto fitting = static_cast<std::uint64_t>(std::lround(seconds / seconds_each));
    return std::clamp(fitting, std::min(micro_batches_min, most), most);
  }
}

struct contestants {
  plain_loop plain_1;
  plain_loop plain_2;
  plain_loop whole_1;
  pipeline_variant stages_1;
  pipeline_variant stages_2;
  pipeline_variant replicas_2;
  lone_stages alone;
};

expected<contestants> gather(const workload& work) {
  auto plain_1 = TROUPE_TRY(plain_loop::rewritten(work, 1));
  auto plain_2 = TROUPE_TRY(plain_loop::rewritten(work, 2));
  auto stages_1 = TROUPE_TRY(pipeline_variant::start(work, {}));
  auto stages_2 = TROUPE_TRY(pipeline_variant::start(work, {.stages = 2}));
  auto replicas_2 = TROUPE_TRY(pipeline_variant::start(work, {.replicas = 2}));
  auto alone = TROUPE_TRY(lone_stages::prepare(work, stages_2.boundaries()));
  return contestants{std::move(plain_1),  std::move(plain_2),  plain_loop::by_libtorch(work, 1),
                     std::move(stages_1), std::move(stages_2), std::move(replicas_2),
                     std::move(alone)};
}

/// Lives for one measurement only, threads and all: see in_new_thread. Made in a thread of its own, as making one
/// probes the model with two threads.
expected<measurement> run_with_two_threads(const workload& work, std::uint64_t micro_batches) {
  auto made = TROUPE_TRY(in_new_thread([&] { return pipeline_variant::start(work, {.threads = 2}); }));
  return made.run(work, micro_batches);
}

struct turn {
  std::string name;
  std::function<expected<measurement>()> run;
  double round_times::*into;
  /// Must give the plain loop's results to the last bit.
  bool comparable = true;
};

class interleaved {
 public:
  interleaved(const workload& work, contestants& all, measured_workload& into) : all_(all), into_(into) {
    const std::uint64_t count = into.micro_batches;
    turns_ = {
        {"plain loop", [&, count] { return all.plain_1.run(work, count); }, &round_times::plain_1},
        {"plain loop, 2 threads", [&, count] { return all.plain_2.run(work, count); }, &round_times::plain_2, false},
        {"whole model", [&, count] { return all.whole_1.run(work, count); }, &round_times::whole_1, false},
        {"1 stage", [&, count] { return all.stages_1.run(work, count); }, &round_times::stages_1},
        {"1 stage, 2 threads", [&, count] { return run_with_two_threads(work, count); },
         &round_times::stages_1_threads_2, false},
        {"2 stages", [&, count] { return all.stages_2.run(work, count); }, &round_times::stages_2},
        {"2 replicas", [&, count] { return all.replicas_2.run(work, count); }, &round_times::replicas_2},
    };
    for (std::size_t stage = 0; stage < all.alone.count(); ++stage) {
      turns_.push_back({"stage " + std::to_string(stage) + " alone",
                        [&, count, stage] { return all.alone.run(work, stage, count); }, nullptr, false});
    }
  }

  expected<void> round(std::size_t number) {
    round_times times;
    times.alone.resize(all_.alone.count());
    for (std::size_t i = 0; i < turns_.size(); ++i) {
      const std::size_t index = (i + number) % turns_.size();
      const turn& next = turns_[index];
      const auto taken = TROUPE_TRY(next.run());
      if (next.into != nullptr) {
        times.*next.into = taken.us_per_micro_batch;
      } else {
        times.alone[index - (turns_.size() - times.alone.size())] = taken.us_per_micro_batch;
      }
      if (next.into == &round_times::stages_2) times.together = taken.stage_us;
      if (next.comparable) compare(next, taken);
    }
    if (number > 0) into_.rounds.push_back(std::move(times));
    return {};
  }

 private:
  void compare(const turn& by, const measurement& taken) {
    if (!reference_) reference_ = taken.values;
    if (same_bits(*reference_, taken.values) || std::ranges::count(into_.different, by.name) > 0) return;
    into_.different.push_back(by.name);
  }

  contestants& all_;
  measured_workload& into_;
  std::vector<turn> turns_;
  /// The plain loop's, as it has the first turn of the first round.
  std::optional<std::vector<metric_value>> reference_;
};

}  // namespace

expected<measured_workload> measure(const workload& work, const round_options& options) {
  auto all = TROUPE_TRY(gather(work));
  const auto count = TROUPE_TRY(choose_micro_batches(work, all.plain_1, options.seconds));
  measured_workload made;
  made.micro_batches = count;
  made.boundaries = all.stages_2.boundaries();
  interleaved turns(work, all, made);
  for (std::size_t number = 0; number < options.rounds; ++number) {
    TROUPE_TRY(turns.round(number));
  }
  return made;
}

}  // namespace troupe::bench
