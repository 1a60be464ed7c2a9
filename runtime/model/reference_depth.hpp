#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace troupe {

/// How deep LibTorch goes when it compiles a model's classes: a class that names another one waits until that is there.
class reference_depth {
 public:
  /// The code of `holder` names `named`, in this order; "__torch__.Net".
  void add(const std::string& holder, const std::string& named) { named_by_[holder].push_back(named); }

  /// The most classes and functions that wait at a time.
  [[nodiscard]] std::size_t deepest() const;

 private:
  std::map<std::string, std::vector<std::string>> named_by_;
};

}  // namespace troupe
