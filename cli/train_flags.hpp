#pragma once

#include <map>
#include <string>
#include <string_view>

#include "option_flags.hpp"
#include "parse.hpp"
#include <troupe/trainer.hpp>

namespace troupe::cli {

/// The flags of `troupe train`: those options of eval that mean something to a training, which files and variables may
/// have, too, and its own.
class train_flags {
 public:
  /// As option_flags.
  explicit train_flags(parser& into);
  train_flags(const train_flags&) = delete;
  train_flags& operator=(const train_flags&) = delete;

  /// After parse(). Errors: those of option_flags::resolve(); E0102, E0103 for a value; E0104 for a flag of another
  /// optimizer.
  [[nodiscard]] expected<train_options> read() const;

 private:
  [[nodiscard]] expected<void> check_optimizer(optimizer_kind kind) const;

  parser& parser_;
  option_flags shared_;
  /// By flag.
  std::map<std::string_view, std::string> texts_;
};

}  // namespace troupe::cli
