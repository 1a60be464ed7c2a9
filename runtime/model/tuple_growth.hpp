#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "runtime/model/code_line.hpp"

namespace troupe {

/// How large the tuples of a model's code can be: y = (x, x), written forty times one after the other, has a type of
/// 2^40 members, and LibTorch writes it out. A name stands for the largest tuple that was assigned to it, and a call
/// for a small one: the types of results are in the file.
class tuple_growth {
 public:
  /// One line of a function.
  void read(const code_line& line);
  /// Behind the end of a function.
  void forget() { sizes_.clear(); }
  /// Members within members all counted, at most 2^32.
  [[nodiscard]] std::uint64_t largest() const { return largest_; }

 private:
  struct size {
    std::uint64_t whole = 1;
    /// Its largest member.
    std::uint64_t member = 1;
  };

  [[nodiscard]] size size_of(const code_line& line, std::size_t begin) const;

  std::unordered_map<std::string, size> sizes_;
  std::uint64_t largest_ = 0;
};

}  // namespace troupe
