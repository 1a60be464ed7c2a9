#include "bare_hop.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <new>
#include <stdexcept>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/device/cuda_context.hpp"
#include "runtime/device/device_sharing.hpp"

namespace troupe::bench {
namespace {

using steady = std::chrono::steady_clock;
/// Counts the hops of both processes. Even numbers are the turns of the first process, odd ones of the second.
using turn = std::atomic<std::uint64_t>;
constexpr std::uint32_t warm_up_hops = 20;
constexpr std::chrono::seconds patience{60};

void await_turn(const turn& both, std::uint64_t number) {
  const auto limit = steady::now() + patience;
  while (both.load(std::memory_order_acquire) != number) {
    if (steady::now() > limit) throw std::runtime_error("the other process does not take its turn");
  }
}

std::vector<std::vector<double>> play(const std::vector<std::size_t>& sizes, std::uint32_t hops, turn* both,
                                      std::uint64_t me) {
  const auto device =
      get(cuda_driver::load().and_then([](const cuda_driver& driver) { return cuda_context_of(driver, 0); }));
  const auto stream = get(device->make_stream());
  const auto event = get(get(device->sharing())->make_event());
  std::vector<std::vector<double>> made;
  std::uint64_t number = me;
  for (const std::size_t bytes : sizes) {
    const auto from = get(device->allocate(bytes));
    const auto into = get(device->allocate(bytes));
    made.emplace_back();
    for (std::uint32_t hop = 0; hop < hops + warm_up_hops; ++hop, number += 2) {
      if (both != nullptr) await_turn(*both, number);
      const auto start = steady::now();
      get(stream->copy(into.get(), from.get(), bytes));
      get(event->record_on(*stream));
      while (!get(event->has_passed())) {
      }
      const std::chrono::duration<double, std::micro> taken = steady::now() - start;
      if (both != nullptr) both->store(number + 1, std::memory_order_release);
      if (hop >= warm_up_hops) made.back().push_back(taken.count());
    }
  }
  return made;
}

}  // namespace

std::vector<std::vector<double>> bare_hops(const std::vector<std::size_t>& sizes, std::uint32_t hops, bool of_two) {
  if (!of_two) return play(sizes, hops, nullptr, 0);
  void* const page = ::mmap(nullptr, sizeof(turn), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::runtime_error("no memory for two processes");
  auto* const both = new (page) turn(0);
  const pid_t other = ::fork();
  if (other == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    static_cast<void>(play(sizes, hops, both, 1));
    ::_exit(0);
  }
  auto made = play(sizes, hops, both, 0);
  static_cast<void>(::waitpid(other, nullptr, 0));
  return made;
}

}  // namespace troupe::bench
