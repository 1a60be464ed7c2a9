// Support of the two-process tests: a child that is one end of an edge, and bells that both processes have mapped.
#pragma once

#include <chrono>
#include <csignal>
#include <random>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm_test_support.hpp"

namespace troupe::testing {

inline constexpr std::chrono::seconds stall_limit{20};

/// A child process that runs a function and ends with its verdict. Made before any thread is.
class child {
 public:
  template <class Run>
  explicit child(Run run) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(run() ? 0 : 1);
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    if (pid_ > 0) kill();
  }

  /// Waits for its end: whether it found everything in order.
  [[nodiscard]] bool succeeded() {
    const int status = ended();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    (void)ended();
  }

 private:
  int ended() {
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    pid_ = 0;
    return status;
  }

  pid_t pid_;
};

/// The memory of an edge and the words of both bells, for two processes; each opens its end after the fork.
class shared_ground {
 public:
  explicit shared_ground(shm_edge_options options)
      : memory_(std::move(*create_shm_edge(options))),
        bells_(std::make_shared<const memory_mapping>(
            std::move(*shared_memory::create("troupe-bells", page)->map(0, page)))),
        producer_bell(bell(0)),
        consumer_bell(bell(1)) {}

  [[nodiscard]] std::unique_ptr<edge_producer> producer() {
    return std::move(*open_shm_producer(twin(), {consumer_bell, codec_, [this](const error&) { ++damages; }}));
  }
  [[nodiscard]] std::unique_ptr<edge_consumer> consumer() {
    return std::move(*open_shm_consumer(twin(), {producer_bell, codec_, [this](const error&) { ++damages; }}));
  }

 private:
  static constexpr std::uint64_t page = 4096;

  [[nodiscard]] unique_fd twin() const { return unique_fd(::fcntl(memory_.get(), F_DUPFD_CLOEXEC, 0)); }
  [[nodiscard]] std::shared_ptr<doorbell> bell(std::size_t which) const {
    auto& words = reinterpret_cast<doorbell_words&>(bells_->bytes()[which * sizeof(doorbell_words)]);
    // The mapping lives as long as the bell.
    return {new doorbell(words), [pages = bells_](const doorbell* done) { delete done; }};
  }

  unique_fd memory_;
  std::shared_ptr<const memory_mapping> bells_;
  std::shared_ptr<const payload_codec> codec_ = std::make_shared<const pattern_codec>();

 public:
  std::shared_ptr<doorbell> producer_bell;
  std::shared_ptr<doorbell> consumer_bell;
  std::uint32_t damages = 0;
};

/// Repeats `attempt` until it is true, parking after `spins` vain ones. False if a wait ran into the limit: a wake-up
/// was lost.
template <class Attempt>
[[nodiscard]] bool park_until(doorbell& bell, std::uint64_t spins, std::uint64_t& parks, Attempt attempt) {
  for (;;) {
    for (std::uint64_t i = 0; i <= spins; ++i) {
      if (attempt()) return true;
    }
    const std::uint32_t epoch = bell.prepare_to_park();
    if (attempt()) {
      bell.stay_awake();
      return true;
    }
    const auto start = std::chrono::steady_clock::now();
    bell.wait(epoch, stall_limit);
    ++parks;
    if (std::chrono::steady_clock::now() - start >= stall_limit) return false;
  }
}

/// What both processes know of the message of an index.
struct plan {
  std::uint64_t run_length = 100;  ///< messages of a call, flushed after each
  std::size_t tensors_max = 300;   ///< bytes
  std::uint64_t spins_max = 512;

  [[nodiscard]] std::size_t tensors(std::uint64_t index) const { return std::mt19937_64(index)() % (tensors_max + 1); }

  [[nodiscard]] activation message(std::uint64_t index) const {
    activation made{{index / run_length, index},
                    {index * 10, index * 10 + 10},
                    std::make_shared<const pattern>(index, tensors(index)),
                    nullptr};
    if (index % 3 == 0) made.labels = std::make_shared<const pattern>(~index, 9);
    if (index % 5 == 0) made.rows = std::make_shared<const row_set>(row_set{1, 4, 9});
    return made;
  }

  [[nodiscard]] bool is_whole(const activation& got, std::uint64_t index) const {
    return got.id == micro_batch_id{index / run_length, index} &&
           got.samples == sample_range{index * 10, index * 10 + 10} && is_pattern(got.tensors, index, tensors(index)) &&
           (index % 3 == 0 ? is_pattern(got.labels, ~index, 9) : got.labels == nullptr) &&
           (index % 5 == 0 ? got.rows && *got.rows == row_set{1, 4, 9} : got.rows == nullptr);
  }
};

}  // namespace troupe::testing
