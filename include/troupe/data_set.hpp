#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>
#include <troupe/named_tensors.hpp>

namespace troupe {

/// Consecutive samples. All tensors are on the CPU and have the samples as dimension 0. One tensor needs no name:
/// sample_block{images, digits}, block.inputs.only(). Several have one each:
/// sample_block{{{"ids", ids}, {"mask", mask}}, {{"start", start}, {"end", end}}}, block.inputs.at("ids").
struct sample_block {
  named_tensors inputs;
  /// May be empty if no sink scores them.
  named_tensors labels;
};

/// A data set with random access. During a run every range may be read again and must have the same bits. Reading is
/// const and must be thread-safe.
class data_set {
 public:
  data_set() = default;
  data_set(const data_set&) = delete;
  data_set& operator=(const data_set&) = delete;
  virtual ~data_set() = default;

  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  /// Shape of one sample without the sample dimension: [1, 28, 28]. With several inputs: of the largest one. The loader
  /// derives the number of samples per block from it.
  [[nodiscard]] virtual std::vector<std::int64_t> sample_shape() const = 0;
  /// Greatest label + 1 of the kind of data (10 for MNIST), or 0 where the labels are no classes.
  [[nodiscard]] virtual std::uint32_t classes() const noexcept = 0;
  /// "mnist:data/mnist": how errors and results name it.
  [[nodiscard]] virtual std::string name() const = 0;
  /// All files that contain samples; a journal pins their content. Empty if unknown.
  [[nodiscard]] virtual std::vector<std::string> files() const { return {}; }
  /// Decodes [range.begin, range.end), which lies inside [0, size()): one row per sample in every tensor.
  [[nodiscard]] virtual expected<sample_block> read(sample_range range) const = 0;
};

using data_set_ptr = std::shared_ptr<const data_set>;

/// KIND:PATH as on the command line, the kinds of docs/data.md. Everything that can be checked
/// without decoding (existence, headers, sizes, counts that match, label range) is checked here.
expected<data_set_ptr> open_data(const std::string& specification);

/// The same data with all inputs of a floating type cast to `dtype`, block by block as they are read.
data_set_ptr cast_inputs(data_set_ptr data, at::ScalarType dtype);

/// One micro-batch of a user's own data: inputs, and labels where a loss is wanted. The samples are dimension 0 of all
/// tensors; their number may differ from one micro-batch to the next.
using batch = sample_block;

/// A user's iterator: gives the next micro-batch, or nothing at the end. The loader's thread calls it while its call is
/// loading, and at no other time. An exception fails the call with E0604, which names the micro-batch.
using data_iterator = std::function<std::optional<batch>()>;
/// Applied to each batch of an iterator before it is sent (DeepSpeed's set_batch_fn).
using batch_function = std::function<batch(batch)>;

}  // namespace troupe
