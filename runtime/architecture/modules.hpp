#pragma once

#include <cstdint>
#include <string>

#include "runtime/architecture/network.hpp"

namespace troupe {

/// Modules of torch.nn, as network code: each function enters a submodule of this name, takes its weights, and gives
/// what forward() gives. Sizes are those of the constructor.

/// [..., in] to [..., out].
tensor_value linear(network& net, const std::string& name, tensor_value x, std::int64_t in, std::int64_t out,
                    bool has_bias = true);

struct convolution_sizes {
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t groups = 1;
  bool has_bias = false;
};
/// [N, in, height, width] to [N, out, ...], with square kernels.
tensor_value conv2d(network& net, const std::string& name, tensor_value x, const convolution_sizes& sizes);

/// Over dimension 1, in eval mode.
tensor_value batch_norm2d(network& net, const std::string& name, tensor_value x, std::int64_t channels,
                          double epsilon = 1e-5);
/// Over the last dimension.
tensor_value layer_norm(network& net, const std::string& name, tensor_value x, std::int64_t size, double epsilon);
/// Rows of a table [count, size], by indices of any shape.
tensor_value embedding(network& net, const std::string& name, tensor_value indices, std::int64_t count,
                       std::int64_t size);
/// The first S rows of a table [count, size], for the positions of indices [N, S]: [S, size].
tensor_value first_rows(network& net, const std::string& name, tensor_value indices, std::int64_t count,
                        std::int64_t size);

/// The number of classes: the rows that the weights of the last layer, a Linear of this name, have in the file.
std::int64_t classes_of(network& net, const std::string& layer, std::int64_t otherwise = 1000);

}  // namespace troupe
