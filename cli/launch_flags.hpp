#pragma once

#include <optional>
#include <string>
#include <vector>

#include "node_flags.hpp"
#include "parse.hpp"
#include "runtime/launch/launch_setup.hpp"
#include "runtime/launcher/launch_roles.hpp"

namespace troupe::cli {

/// The flags of launch.
class launch_flags {
 public:
  /// Adds the flags to `into`. Each of the two needs the other when `into` parses and when this object is asked.
  explicit launch_flags(parser& into);
  launch_flags(const launch_flags&) = delete;
  launch_flags& operator=(const launch_flags&) = delete;

  // After parse(). Errors are E0103 of single values.
  [[nodiscard]] expected<launch_choice> choice() const;
  /// All but nodes, addresses and environment.
  [[nodiscard]] expected<launch_setup> setup() const;
  /// --ssh.
  [[nodiscard]] std::optional<std::string> ssh_command() const;
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }
  [[nodiscard]] const std::vector<std::string>& variables() const { return variables_; }

 private:
  node_flags nodes_;
  std::string ssh_;
  bool no_ssh_ = false;
  std::string node_rank_;
  std::string join_file_;
  std::vector<std::string> addresses_;
  std::string port_;
  std::vector<std::string> variables_;
  std::string join_timeout_;
  std::string worker_timeout_;
  std::string grace_;
  bool allow_shrink_ = false;
  std::string placement_;
  bool bind_cores_ = false;
  std::string log_dir_;
  bool tee_ = false;
};

}  // namespace troupe::cli
