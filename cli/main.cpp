#include <csignal>

#include "command.hpp"
#include "runtime/os/standard_descriptors.hpp"

int main(int argc, char** argv) {
  troupe::reserve_standard_descriptors();
  // A reader that went away is an error with a message (E0611), not a silent death.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that may not grow any more (E0611, E0803).
  std::signal(SIGXFSZ, SIG_IGN);
  return static_cast<int>(troupe::cli::run_program({argv + (argc > 0 ? 1 : 0), argv + argc}));
}
