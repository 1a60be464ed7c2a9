#pragma once

#include <memory>

#include <troupe/error.hpp>
#include <troupe/options.hpp>
#include <troupe/result.hpp>
#include <troupe/scalars.hpp>

namespace troupe::cli {

/// The step of an evaluation: eval_options::log_step, else the one that the name of the weights or the model tells, or
/// the folder that they lie in, else 0. A checkpoint of a pipeline has that of its last tag.
[[nodiscard]] std::uint64_t step_of(const eval_options& options);

/// What --log-scalars asks for.
class scalar_output {
 public:
  /// Before the evaluation, so that a target which cannot be written (E0611) is told before hours of work.
  [[nodiscard]] static expected<scalar_output> open(const eval_options& options);
  /// Nothing where nothing is asked for, and of a partial result, whose numbers would stand in the place of the true
  /// ones. Says on stderr what was done. E0611.
  [[nodiscard]] expected<void> write(const run_result& result);

 private:
  std::unique_ptr<scalar_log> log_;
};

}  // namespace troupe::cli
