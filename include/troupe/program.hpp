#pragma once

#include <troupe/evaluator.hpp>

namespace troupe {

struct worker_environment;

/// The first object in main() of a program whose stages run in worker processes. A worker is the same program with the
/// same arguments: it executes main() up to the run, becomes a stage there and never returns. One more such process
/// tries all stages out before the run. So code before the run happens in every process and must lead to the same
/// topology; code after the run happens in the driver only. These processes are copies of the driver, made in the
/// constructor: what comes before it happens once.
///
///   int main(int argc, char** argv) {
///     troupe::program program{argc, argv};
///     auto result = program.run(my_topology(), {.micro_batch = 64, .workers = {.enabled = true}});
class program {
 public:
  /// Call it before any other thread exists. The arguments are passed to workers; none is parsed. It opens closed
  /// standard descriptors on /dev/null and ignores SIGXFSZ unless the program handles it.
  program(int argc, char** argv);
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  /// The same as troupe::run(). Several runs are possible if all have one topology (else E0617).
  [[nodiscard]] expected<run_result> run(const topology& what, const run_options& options = {},
                                         evaluation_hooks hooks = {}) const {
    return troupe::run(what, options, std::move(hooks));
  }

  /// For the library; a program asks whether it is null, as it is in the driver and in the try-out process.
  [[nodiscard]] static const worker_environment* worker();
  /// true in the try-out process, which computes the first micro-batch at the run and never returns.
  [[nodiscard]] static bool is_probe();
  /// Whether a program object exists in this process.
  [[nodiscard]] static bool exists();
};

}  // namespace troupe
