#include "tests/processes/random_schedule.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "tests/processes/process_list.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using family = schedule_options::family;

/// The journal shows progress some milliseconds late: two growths so far apart are of two moments.
constexpr auto between_growths = 30ms;
constexpr int growths_of_progress = 2;
constexpr int began_without_progress_max = 2;

/// It has the page of a stage.
bool has_begun(pid_t worker) {
  std::ostringstream maps;
  maps << std::ifstream("/proc/" + std::to_string(worker) + "/maps").rdbuf();
  return maps.str().find("troupe-engine") != std::string::npos;
}

}  // namespace

random_schedule::random_schedule(marked_run& run, const schedule_options& options)
    : run_(run), options_(options), random_(options.seed * 1000 + static_cast<unsigned>(options.kind)) {
  deeds_left_ = 3 + static_cast<int>(random_() % 4);
  choose_next();
}

void random_schedule::choose_next() {
  next_at_.reset();
  next_ = deed::kill;
  next_share_ = std::min(0.9, next_share_ + std::uniform_real_distribution<>{0.02, 0.25}(random_));
  if (options_.kind != family::mix || random_() % 2 == 0) return;
  next_ = random_() % 2 == 0 ? deed::freeze_one : deed::freeze_all;
}

bool random_schedule::is_due() const {
  if (next_at_) return clock::now() >= *next_at_;
  if (options_.kind == family::start) return true;
  return static_cast<double>(size_) >= next_share_ * static_cast<double>(options_.whole);
}

void random_schedule::tick() {
  look_at_progress();
  if (!frozen_.empty()) return clock::now() >= thaw_at_ ? thaw() : void();
  if (deeds_left_ == 0 || !is_due()) return;
  const std::vector<pid_t> workers = run_.workers();
  if (workers.empty()) return;
  if (options_.kind == family::start && !next_at_) {
    next_at_ = clock::now() + up_to(600);
    return;
  }
  const milliseconds time = random_() % 2 == 0 ? up_to(300) : options_.silence + options_.silence / 2;
  if (next_ == deed::kill) return kill_one(workers);
  --deeds_left_;
  if (next_ == deed::freeze_one) {
    // It may be ended for that, and would be one more that had begun.
    const bool is_long = time > options_.silence && began_without_progress_ < began_without_progress_max;
    began_without_progress_ += is_long ? 1 : 0;
    freeze({workers[random_() % workers.size()]}, is_long ? time : up_to(300));
  } else {
    auto all = run_.children();
    all.push_back(run_.driver());
    std::ranges::shuffle(all, random_);
    freeze(all, time);
  }
  choose_next();
}

void random_schedule::look_at_progress() {
  const std::uintmax_t size = run_.size_of(journal);
  if (size == size_ || clock::now() < grown_at_ + between_growths) return;
  size_ = size;
  grown_at_ = clock::now();
  if (++growths_ >= growths_of_progress) began_without_progress_ = 0;
}

/// Within a burst of the mix mostly the spare, which is wanted then.
pid_t random_schedule::victim_among(const std::vector<pid_t>& workers) {
  if (options_.kind == family::mix && more_ > 0 && random_() % 4 != 0) {
    const auto spare = std::ranges::find_if_not(workers, has_begun);
    if (spare != workers.end()) return *spare;
  }
  return workers[random_() % workers.size()];
}

/// Stopped first: what it is cannot change before it dies.
void random_schedule::kill_one(const std::vector<pid_t>& workers) {
  const pid_t victim = victim_among(workers);
  if (::kill(victim, SIGSTOP) != 0) return;
  const bool begun = has_begun(victim);
  if (begun && began_without_progress_ == began_without_progress_max) {
    ::kill(victim, SIGCONT);
    return;
  }
  if (::kill(victim, SIGKILL) != 0) return;
  note("SIGKILL to " + std::to_string(victim) + (begun ? ", a stage" : ", no stage"));
  ++kills_;
  growths_ = 0;
  began_without_progress_ += begun ? 1 : 0;
  if (options_.kind == family::start) {
    --deeds_left_;
    next_at_ = clock::now() + up_to(150);
    return;
  }
  if (more_ == 0 && random_() % 2 == 0) more_ = 2 + static_cast<int>(random_() % 3);
  if (more_ > 0 && --more_ > 0) {
    next_at_ = clock::now() + up_to(options_.kind == family::stages ? 150 : random_() % 2 == 0 ? 10 : 600);
    return;
  }
  more_ = 0;
  --deeds_left_;
  choose_next();
}

void random_schedule::freeze(const std::vector<pid_t>& processes, milliseconds time) {
  for (const pid_t each : processes) ::kill(each, SIGSTOP);
  frozen_ = processes;
  thaw_at_ = clock::now() + time;
  growths_ = 0;
  note("SIGSTOP to " + std::to_string(processes.size()) + " processes for " + std::to_string(time.count()) + " ms");
}

/// A process that was ended meanwhile has no parent any more.
void random_schedule::thaw() {
  std::ranges::shuffle(frozen_, random_);
  const std::vector<pid_t> alive = children_of(run_.driver());
  for (const pid_t each : frozen_) {
    if (each == run_.driver() || std::ranges::find(alive, each) != alive.end()) ::kill(each, SIGCONT);
  }
  frozen_.clear();
  note("SIGCONT");
}

void random_schedule::note(const std::string& what) {
  const auto now = std::chrono::duration_cast<milliseconds>(clock::now() - started_).count();
  history_ += std::to_string(now) + " ms, " + std::to_string(size_) + " bytes: " + what + "\n";
}

}  // namespace troupe::testing
