#pragma once

#include <array>
#include <string>
#include <string_view>

#include <troupe/data_set.hpp>

namespace troupe {

/// One row of the table: a kind of data, as KIND:PATH names it.
struct data_kind {
  std::string_view name;
  /// What PATH is: "DIR".
  std::string_view path;
  /// One line for docs/data.md (a test compares them).
  std::string_view help;
  /// Gets what stands behind the colon, which is not empty.
  expected<data_set_ptr> (*open)(const std::string& path);
};

// Formats to the byte: docs/data.md.
expected<data_set_ptr> open_mnist(const std::string& file_or_directory);
expected<data_set_ptr> open_cifar10(const std::string& file_or_directory);
expected<data_set_ptr> open_npy(const std::string& paths_and_options);
expected<data_set_ptr> open_npz(const std::string& path_and_options);

/// All kinds of data. A new one has its row here, its function above and a source file of its own.
inline constexpr std::array data_kinds = {
    data_kind{"mnist", "FILE_OR_DIR",
              "MNIST, EMNIST and their like: a file of images, or the directory of t10k, gzip or not", open_mnist},
    data_kind{"cifar10", "FILE_OR_DIR", "CIFAR-10 binary records", open_cifar10},
    data_kind{"npy", "INPUTS,LABELS[,DTYPE][,ignore=LABEL]",
              "NumPy files: two, or one for each name (NAME=FILE,...); DTYPE casts the inputs", open_npy},
    data_kind{"npz", "FILE[,label=NAME][,inputs=A+B][,trim=MASK][,DTYPE][,ignore=LABEL]",
              "a NumPy archive of numpy.savez, with inputs and labels by name", open_npz},
};

/// "mnist:FILE_OR_DIR, cifar10:FILE_OR_DIR, npy:INPUTS,LABELS[,DTYPE][,ignore=LABEL], npz:..."
std::string data_forms();
std::vector<std::string> data_kind_names();

}  // namespace troupe
