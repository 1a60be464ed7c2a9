// The program `troupe`. What only starts other processes runs here, without LibTorch, whose load takes a third of a
// second of a core; for all else it becomes the program `troupe-main`.
#include <cstdio>
#include <cstdlib>

#include <poll.h>

#include "beside.hpp"
#include "guarded.hpp"
#include "launch_command.hpp"
#include "output.hpp"

namespace {

using namespace troupe::cli;

/// srun ends the step at the second task that fails, and loses what it has not read by then: the root cause. Its
/// daemon reads stderr, and sends that on; nothing tells when it has arrived.
void let_srun_read() {
  constexpr int way_to_srun_ms = 200;
  await_reader();
  ::poll(nullptr, 0, way_to_srun_ms);
}

troupe::exit_status run(const arguments& words) {
  const auto become_main = [&] { return become("troupe-main", words); };
  const std::string name = words.size() > 1 ? words[1] : "";
  if (name != "launch" && name != "agent") return run_guarded("troupe", become_main);
  const arguments given(words.begin() + 2, words.end());
  settle_process();
  return run_guarded(name, [&]() -> troupe::expected<troupe::exit_status> {
    if (name == "agent") return run_agent(given);
    return run_launch_command(given, [&](const chaos_nodes&, const arguments&) { return become_main(); });
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto status = static_cast<int>(run({argv, argv + argc}));
  std::fflush(nullptr);
  if (status != 0 && std::getenv("SLURM_STEP_ID") != nullptr) let_srun_read();
  return status;
}
