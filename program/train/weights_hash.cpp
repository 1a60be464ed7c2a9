#include <algorithm>
#include <vector>

#include "runtime/os/file_hash.hpp"
#include <troupe/trainer.hpp>

namespace troupe {

std::string weights_sha256(const state_dict& weights) {
  std::vector<const named_tensor*> sorted;
  sorted.reserve(weights.size());
  for (const named_tensor& each : weights) sorted.push_back(&each);
  std::ranges::sort(sorted, {}, &named_tensor::name);
  sha256 hash;
  for (const named_tensor* each : sorted) {
    hash.add(each->name.c_str(), each->name.size() + 1);  // with its zero
    const at::Tensor dense = each->tensor.detach().cpu().contiguous();
    hash.add(dense.data_ptr(), dense.nbytes());
  }
  return hash.digest();
}

}  // namespace troupe
