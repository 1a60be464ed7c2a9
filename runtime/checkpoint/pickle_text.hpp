#pragma once

#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// A dict as the bytes of a pickle of protocol 2, and the storages that its tensors are views of, which stand outside
/// under their positions: "0", "1".
struct pickled_text {
  std::string bytes;
  /// Each on the CPU, of one dimension, with all elements of the storage.
  std::vector<at::Tensor> storages;
};

/// E0217 for what write_pickled() refuses; `where` is the file.
expected<pickled_text> pickle_of(const client_state& root, const std::string& where);

}  // namespace troupe
