#include <algorithm>
#include <numeric>
#include <utility>

#include "testing/simulation/world.hpp"

namespace troupe::simulation {

plan with_faults(const plan& what, const std::vector<std::size_t>& positions) {
  plan made = what;
  made.faults.clear();
  for (const std::size_t each : positions) made.faults.push_back(what.faults.at(each));
  return made;
}

std::vector<std::size_t> shrink(simulator& with, const plan& failing) {
  std::vector<std::size_t> least(failing.faults.size());
  std::iota(least.begin(), least.end(), std::size_t{0});
  for (std::size_t part = std::max<std::size_t>(1, least.size() / 2);; part = std::max<std::size_t>(1, part / 2)) {
    bool got_less = false;
    for (std::size_t begin = 0; begin < least.size();) {
      std::vector<std::size_t> tried = least;
      const auto first = tried.begin() + static_cast<std::ptrdiff_t>(begin);
      tried.erase(first, first + static_cast<std::ptrdiff_t>(std::min(part, tried.size() - begin)));
      if (with.run(with_faults(failing, tried)).wrong.empty()) {
        begin += part;
      } else {
        least = std::move(tried);
        got_less = true;
      }
    }
    if (part == 1 && !got_less) return least;
  }
}

}  // namespace troupe::simulation
