#include "runtime/model/reference_depth.hpp"

#include <algorithm>
#include <set>

namespace troupe {

std::size_t reference_depth::deepest() const {
  using entry = decltype(named_by_)::const_iterator;
  struct waiting {
    entry what;
    std::size_t next = 0;
  };
  std::size_t deepest = 0;
  std::set<std::string> seen;
  std::vector<waiting> open;
  for (auto root = named_by_.begin(); root != named_by_.end(); ++root) {
    if (seen.insert(root->first).second) open.push_back({root});
    while (!open.empty()) {
      deepest = std::max(deepest, open.size());
      waiting& top = open.back();
      if (top.next == top.what->second.size()) {
        open.pop_back();
        continue;
      }
      const entry inner = named_by_.find(top.what->second[top.next++]);
      if (inner != named_by_.end() && seen.insert(inner->first).second) open.push_back({inner});
    }
  }
  return deepest;
}

}  // namespace troupe
