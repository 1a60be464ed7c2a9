#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/error.hpp"
#include "messages/ids.hpp"

namespace troupe {

/// Samples of a range: inputs [N, ...] float32 (or as stored, for npy), labels [N] int64 (or as stored, for npy).
struct sample_block {
  at::Tensor inputs;
  at::Tensor labels;
};

/// A data set with random access: any range can be read again, with the same bits, as long as the run lasts that it was
/// given to. Reading is thread-safe (const).
class data_set {
 public:
  data_set() = default;
  data_set(const data_set&) = delete;
  data_set& operator=(const data_set&) = delete;
  virtual ~data_set() = default;

  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  /// Shape of one sample, without the sample dimension: [1, 28, 28].
  [[nodiscard]] virtual std::vector<std::int64_t> sample_shape() const = 0;
  /// Greatest label + 1 of the kind of data (10 for MNIST), or 0 where the labels are no classes.
  [[nodiscard]] virtual std::uint32_t classes() const noexcept = 0;
  /// "mnist:data/mnist": how errors and results name it.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Every file that samples come from, so that their content can be told from another's; none where it is not known.
  [[nodiscard]] virtual std::vector<std::string> files() const { return {}; }
  /// Decodes [range.begin, range.end), which lies inside [0, size()).
  [[nodiscard]] virtual expected<sample_block> read(sample_range range) const = 0;
};

using data_set_ptr = std::shared_ptr<const data_set>;

/// KIND:PATH as on the command line: mnist:DIR, cifar10:FILE_OR_DIR, npy:INPUTS,LABELS. Everything that can be checked
/// without decoding (existence, headers, sizes, counts that match, label range) is checked here.
expected<data_set_ptr> open_data(const std::string& specification);

}  // namespace troupe
