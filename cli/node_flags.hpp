#pragma once

#include <optional>
#include <string>

#include "parse.hpp"
#include "runtime/launch/node_filter.hpp"

namespace troupe::cli {

/// The flags that say which nodes there are, of plan and launch; in both spellings where they have several words.
class node_flags {
 public:
  /// Adds the flags to `into`. Each of the two needs the other when `into` parses and when this object is asked.
  node_flags(parser& into, const std::string& hostfile_help);
  node_flags(const node_flags&) = delete;
  node_flags& operator=(const node_flags&) = delete;

  /// All after parse(). An empty text was not given: an empty value is refused before.
  [[nodiscard]] std::optional<std::string> hostfile() const;
  /// E0103 for a value that is no count.
  [[nodiscard]] expected<node_filter> filter() const;

 private:
  std::string hostfile_;
  std::string include_;
  std::string exclude_;
  std::string num_nodes_;
  std::string num_slots_;
};

/// "--join-timeout,--join_timeout"; a name of one word alone.
std::string both_spellings(std::string name);

}  // namespace troupe::cli
