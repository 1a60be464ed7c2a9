// The program `troupe`. What only starts other processes runs here, without LibTorch, whose load takes a third of a
// second of a core; for all else it becomes the program `troupe-main`.
#include <cstdio>
#include <cstdlib>

#include "beside.hpp"
#include "guarded.hpp"
#include "launch_command.hpp"

namespace {

using namespace troupe::cli;

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
  return status;
}
