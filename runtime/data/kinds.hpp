#pragma once

#include <string>

#include "runtime/data/data_set.hpp"

namespace troupe {

/// One function per kind of data; each takes what stands behind the colon. Formats to the byte: docs/data.md.
expected<data_set_ptr> open_mnist(const std::string& directory);
expected<data_set_ptr> open_cifar10(const std::string& file_or_directory);
expected<data_set_ptr> open_npy(const std::string& inputs_comma_labels);

}  // namespace troupe
