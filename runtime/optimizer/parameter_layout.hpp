#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <c10/core/ScalarType.h>

#include "runtime/optimizer/optimizer_options.hpp"
#include "runtime/optimizer/tied_parameter.hpp"
#include <troupe/error.hpp>
#include <troupe/named_tensors.hpp>

namespace troupe {

/// A tensor in the memory of a stage: a parameter or a buffer.
struct stored_tensor {
  std::string name;
  std::vector<std::int64_t> sizes = {};
  at::ScalarType type = at::kFloat;
  std::uint64_t elements = 0;
  /// Of its section: that of the weights, of one moment, of the gradient; or that of the buffers.
  std::uint64_t offset = 0;

  [[nodiscard]] std::uint64_t bytes() const { return elements * c10::elementSize(type); }
};

/// Where in one block of memory the weights, moments, buffers and the gradient of a stage replica are. It follows from
/// names, shapes, types, ties and the optimizer's moments alone, so that two processes that agree on these agree on it.
///
///     page 0    header
///     half 0    weights | a section for each moment | buffers
///     half 1    the same
///     gradient
///
/// The halves and the gradient begin with a page (4,096 bytes), and each tensor at a multiple of 64 bytes.
class parameter_layout {
 public:
  static constexpr std::uint64_t page = 4096;

  /// Names, sizes and types of the tensors count alone. Parameters are float32 or float64, buffers of any type. E0217
  /// for another type, for two of one name, and for more than 2^46 bytes; E0103 for options that check() refuses.
  /// `ties`: each parameter at most once.
  [[nodiscard]] static expected<parameter_layout> make(const named_tensors& parameters, const named_tensors& buffers,
                                                       const optimizer_options& options,
                                                       std::vector<tied_parameter> ties = {});

  [[nodiscard]] const std::vector<stored_tensor>& parameters() const noexcept { return parameters_; }
  [[nodiscard]] const std::vector<stored_tensor>& buffers() const noexcept { return buffers_; }
  [[nodiscard]] const std::vector<tied_parameter>& ties() const noexcept { return ties_; }
  [[nodiscard]] const optimizer_options& options() const noexcept { return options_; }
  [[nodiscard]] std::size_t moments() const noexcept { return moment_names(options_).size(); }

  /// Whole, as a multiple of the page.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return gradient_begin() + to_page(section_bytes_); }
  /// Weights, one moment, or the gradient.
  [[nodiscard]] std::uint64_t section_bytes() const noexcept { return section_bytes_; }
  [[nodiscard]] std::uint64_t half_begin(std::size_t half) const noexcept { return page + half * half_bytes(); }
  [[nodiscard]] std::uint64_t half_bytes() const noexcept;
  [[nodiscard]] std::uint64_t gradient_begin() const noexcept { return page + 2 * half_bytes(); }
  /// From the beginning of a half; moments count from 0.
  [[nodiscard]] std::uint64_t moment_begin(std::size_t moment) const noexcept { return (1 + moment) * section_bytes_; }
  [[nodiscard]] std::uint64_t buffers_begin() const noexcept { return (1 + moments()) * section_bytes_; }
  // The sums of gradients that a step adds up are in one section of their own: of each parameter at the same offset as
  // in the other sections, and behind them those of further places of tied parameters in the part.

  [[nodiscard]] const std::vector<stored_tensor>& sums() const noexcept { return sums_; }
  [[nodiscard]] std::uint64_t sum_bytes() const noexcept { return sum_bytes_; }
  /// Its position in sums(). `place`: a position in the places of the tie, of those in the part.
  [[nodiscard]] std::size_t sum_at(std::size_t tie, std::size_t place) const {
    const tied_parameter& one = ties_[tie];
    return place == one.begin ? one.parameter : further_sums_[tie] + (place - one.begin - 1);
  }

  /// FNV-1a over all that the layout follows from.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  void place_sums();
  static std::uint64_t to_page(std::uint64_t bytes) noexcept { return (bytes + page - 1) / page * page; }

  std::vector<stored_tensor> parameters_;
  std::vector<stored_tensor> buffers_;
  std::vector<tied_parameter> ties_;
  std::vector<stored_tensor> sums_;
  /// By tie, where in `sums_` the second of its places in the part is.
  std::vector<std::size_t> further_sums_;
  optimizer_options options_;
  std::uint64_t section_bytes_ = 0;
  std::uint64_t sum_bytes_ = 0;
  std::uint64_t buffer_bytes_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace troupe
