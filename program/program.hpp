#pragma once

#include "program/evaluator.hpp"
#include "runtime/process/worker_environment.hpp"

namespace troupe {

/// The first thing in main() of a program whose stages run in worker processes. A worker is this same program, started
/// again with the same arguments: it comes through main() up to the run, and there it becomes a stage and never
/// returns. One more such process tries every stage out before, and ends. So whatever stands before the run happens in
/// all of them, too, and has to lead to the same topology; what
/// stands behind it happens in the driver alone.
///
///   int main(int argc, char** argv) {
///     troupe::program program{argc, argv};
///     auto result = program.run(my_topology(), {.micro_batch = 64, .processes = true});
class program {
 public:
  /// Before there is any other thread. Arguments are the program's own; none is read. Descriptors 0 to 2 that are
  /// closed are taken (standard_descriptors.hpp), and SIGXFSZ is ignored unless the program handles it.
  program(int argc, char** argv);
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  /// troupe::run(), which does the same. More than one run is possible, of one and the same topology (E0617 otherwise).
  [[nodiscard]] expected<run_result> run(const topology& what, const run_options& options = {},
                                         evaluation_hooks hooks = {}) const {
    return troupe::run(what, options, std::move(hooks));
  }

  /// What tells this process that it is a worker; null in a driver, and in the process that tries the run out.
  [[nodiscard]] static const worker_environment* worker();
  /// This process tries the run out for its driver: at the run it computes the first micro-batch and never returns.
  [[nodiscard]] static bool is_probe();
  /// One has been made.
  [[nodiscard]] static bool exists();
};

}  // namespace troupe
