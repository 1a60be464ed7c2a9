#pragma once

#include <string>
#include <utility>
#include <vector>

#include "parse.hpp"
#include "runtime/data/data_option.hpp"

namespace troupe::cli {

/// The flags of a command that takes --data: one for each option that a kind of data has.
class data_flags {
 public:
  /// Adds the flags to `into`. Each of the two needs the other when `into` parses and when this object is asked.
  explicit data_flags(parser& into);
  data_flags(const data_flags&) = delete;
  data_flags& operator=(const data_flags&) = delete;

  /// After parse(): names of the options and texts of their flags, for with_data_flags().
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> given() const;
  /// Flags that were given.
  [[nodiscard]] std::vector<std::string> names_given() const;

 private:
  struct flag {
    const data_option* option = nullptr;
    std::string name;
    std::string text;
  };

  const parser& parser_;
  /// Their texts stay in their places.
  std::vector<flag> flags_;
};

}  // namespace troupe::cli
