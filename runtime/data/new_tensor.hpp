#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <troupe/error.hpp>

namespace troupe {

/// An uninitialised contiguous CPU tensor. Too little memory is an error (E0604) and not an exception.
expected<at::Tensor> new_tensor(const std::vector<std::int64_t>& sizes, at::ScalarType dtype, const std::string& where);

/// {rows, shape...}
std::vector<std::int64_t> with_rows(std::uint64_t rows, const std::vector<std::int64_t>& shape);

/// Elements of a shape; the shape was checked not to overflow.
std::uint64_t elements_of(const std::vector<std::int64_t>& shape);

}  // namespace troupe
