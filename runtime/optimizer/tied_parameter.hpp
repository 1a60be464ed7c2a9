#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace troupe {

/// A parameter that several layers of the model use, perhaps in different stages. Each of these places has a sum of
/// gradients of its own, wherever the model is cut, and the sums are added in the order of the places
/// (docs/decisions/0047).
struct tied_parameter {
  /// Its position among the parameters of the part.
  std::size_t parameter = 0;
  /// The layers of the whole model that use it, ascending; at least two.
  std::vector<std::size_t> places = {};
  /// Positions in `places` of those that lie in the part: [begin, end), at least one.
  std::size_t begin = 0;
  std::size_t end = 0;

  /// Another stage has places, too, and a copy of the parameter.
  [[nodiscard]] bool is_shared() const noexcept { return begin > 0 || end < places.size(); }
  /// The first place of all is in the part. Its stage saves the parameter, and counts it for the norm.
  [[nodiscard]] bool is_owned() const noexcept { return begin == 0; }
};

/// `places`, of which the part has the layers [begin, end).
[[nodiscard]] inline tied_parameter places_in(std::vector<std::size_t> places, std::size_t begin, std::size_t end) {
  const auto position = [&](std::size_t layer) {
    return static_cast<std::size_t>(std::ranges::lower_bound(places, layer) - places.begin());
  };
  tied_parameter made{.begin = position(begin), .end = position(end)};
  made.places = std::move(places);
  return made;
}

}  // namespace troupe
