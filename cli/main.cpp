// The program `troupe-main`: all commands. The program `troupe` becomes it.
#include <cstdio>
#include <cstdlib>

#include "command.hpp"

int main(int argc, char** argv) {
  const auto status = static_cast<int>(troupe::cli::run_process({argv + (argc > 0 ? 1 : 0), argv + argc}));
#ifndef __SANITIZE_ADDRESS__
  // LibTorch's static destructors take a third of a short command's time and have nothing to save. The search for leaks
  // at the end of a program needs them.
  std::fflush(nullptr);
  std::_Exit(status);
#endif
  return status;
}
