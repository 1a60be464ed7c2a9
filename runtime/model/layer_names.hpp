#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Where in a model the objects of a class are, by the types of attributes alone: for errors before anything is loaded.
class layer_names {
 public:
  /// The object `attribute` of `holder` is a `type`; classes with their modules, "__torch__.Net".
  void add(const std::string& holder, std::string attribute, std::string type) {
    attributes_[holder].emplace_back(std::move(attribute), std::move(type));
  }
  void set_root(std::string type) { root_ = std::move(type); }

  /// "layer features.0" for the first object of the class that is found, nearest to the root; nothing for the root
  /// itself and for classes without a place.
  [[nodiscard]] std::optional<std::string> path_to(const std::string& type) const;

 private:
  std::string root_;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> attributes_;
};

}  // namespace troupe
