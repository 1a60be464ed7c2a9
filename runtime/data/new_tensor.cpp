#include "runtime/data/new_tensor.hpp"

#include <ATen/ops/empty.h>

namespace troupe {

expected<at::Tensor> new_tensor(const std::vector<std::int64_t>& sizes, at::ScalarType dtype,
                                const std::string& where) {
  try {
    return at::empty(sizes, at::TensorOptions().dtype(dtype));
  } catch (const std::exception& e) {
    return fail(error_code::source_failed, where,
                "no memory for a tensor of " + std::to_string(elements_of(sizes)) + " elements",
                "use a smaller micro-batch");
  }
}

std::vector<std::int64_t> with_rows(std::uint64_t rows, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(shape.size() + 1);
  sizes.push_back(static_cast<std::int64_t>(rows));
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return sizes;
}

std::uint64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::uint64_t product = 1;
  for (const std::int64_t size : shape) product *= static_cast<std::uint64_t>(size);
  return product;
}

}  // namespace troupe
