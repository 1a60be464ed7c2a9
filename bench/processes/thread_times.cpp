#include "thread_times.hpp"

#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <unistd.h>

#include "../children.hpp"
#include "contestants.hpp"
#include "messages/try.hpp"

namespace troupe::bench {
namespace {

constexpr double shown_from_us = 0.005;

struct thread_time {
  double cpu_ns = 0;
  double times_on_core = 0;
};
/// By process and name; threads of one name are added up.
using thread_times = std::map<std::string, thread_time>;

void add_process(thread_times& to, const std::string& process, pid_t pid, double sign) {
  std::error_code ignored;
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    thread_time now;
    double waited_ns = 0;
    std::ifstream(task.path() / "schedstat") >> now.cpu_ns >> waited_ns >> now.times_on_core;
    thread_time& sum = to[process + ", " + name];
    sum.cpu_ns += sign * now.cpu_ns;
    sum.times_on_core += sign * now.times_on_core;
  }
}

void add_all(thread_times& to, double sign) {
  add_process(to, "driver", ::getpid(), sign);
  std::size_t worker = 0;
  for (const pid_t pid : workers()) add_process(to, "worker " + std::to_string(worker++), pid, sign);
}

std::string table_of(const thread_times& times, double micro_batches) {
  std::string text = "| thread | us | times on a core |\n|---|---|---|\n";
  for (const auto& [name, taken] : times) {
    const double us = taken.cpu_ns / 1e3 / micro_batches;
    if (us < shown_from_us) continue;
    text += fmt::format("| {} | {:.2f} | {:.3f} |\n", name, us, taken.times_on_core / micro_batches);
  }
  return text;
}

}  // namespace

expected<std::string> thread_time_table(const workload& work, const std::string& variant,
                                        const round_options& options) {
  auto all = TROUPE_TRY(contestants::gather(work));
  const auto count = TROUPE_TRY(all->count_for(options.seconds));
  TROUPE_TRY(all->prepare(variant));
  thread_times times;
  double wall_us = 0;
  for (std::uint32_t round = 0; round <= options.rounds; ++round) {
    const auto taken = TROUPE_TRY(all->run(variant, count));
    if (round == 0) add_all(times, -1);
    if (round > 0) wall_us += taken.us_per_micro_batch;
  }
  add_all(times, 1);
  const std::uint64_t micro_batches = options.rounds * (count + warm_up_of(count));
  return fmt::format("{} with {}, {}: {} calls of {} micro-batches, {:.1f} us for each; of it\n\n", work.model,
                     work.micro_batch, variant, options.rounds, count, wall_us / options.rounds) +
         table_of(times, static_cast<double>(micro_batches));
}

}  // namespace troupe::bench
