#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include <ATen/core/Tensor.h>

#include <troupe/error.hpp>

namespace troupe {

/// Outputs [samples, classes] as raw memory with strides in elements. Values come as float, or double where they are
/// stored as such: both keep the order and the value of every narrower type.
template <class T>
struct output_rows {
  using value_type = std::conditional_t<std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>, double, float>;

  const T* data;
  std::int64_t samples;
  std::int64_t classes;
  std::int64_t sample_stride;
  std::int64_t class_stride;

  [[nodiscard]] value_type at(std::int64_t sample, std::int64_t column) const noexcept {
    return static_cast<value_type>(data[sample * sample_stride + column * class_stride]);
  }
};

struct label_column {
  const std::int64_t* data;
  std::int64_t stride;

  [[nodiscard]] std::int64_t at(std::int64_t sample) const noexcept { return data[sample * stride]; }
};

/// outputs [N, classes] float32, float64, float16 or bfloat16 and labels [N] or [N, 1] int64, N and classes at least 1,
/// both dense and on the CPU, every label below `classes` or `ignored`. Anything else is E0603, naming `metric` and the
/// sample.
expected<void> check_outputs(const std::string& metric, const at::Tensor& outputs, const at::Tensor& labels,
                             std::optional<std::int64_t> ignored = std::nullopt);

/// For metrics that count per class of the data: every label, already known to be no less than 0, must be below
/// `classes`, unless it is `ignored`.
expected<void> check_known_classes(const std::string& metric, const at::Tensor& labels, std::size_t classes,
                                   std::optional<std::int64_t> ignored = std::nullopt);

/// One output per sample: [N], or [N, 1]. The same of labels.
bool is_column(const at::Tensor& tensor);
/// Dense and on the CPU.
bool is_on_cpu(const at::Tensor& tensor);
/// "Float [4, 3]", for errors.
std::string described(const at::Tensor& tensor);
/// float32, float64, float16 or bfloat16.
bool is_real(const at::Tensor& tensor);

/// For regression: outputs and labels dense and on the CPU, outputs of a floating type, labels of one or int64, both of
/// the same shape, where [N] and [N, 1] count as the same. Anything else is E0603, naming `metric` and both shapes.
expected<void> check_numbers(const std::string& metric, const at::Tensor& outputs, const at::Tensor& labels);

inline label_column labels_of(const at::Tensor& labels) {
  return {labels.const_data_ptr<std::int64_t>(), labels.stride(0)};
}

/// Calls `use(const T*)` with the memory of a tensor of real numbers or int64.
template <class F>
void with_elements_of(const at::Tensor& numbers, F&& use) {
  switch (numbers.scalar_type()) {
    case at::kDouble:
      return use(numbers.const_data_ptr<double>());
    case at::kHalf:
      return use(numbers.const_data_ptr<at::Half>());
    case at::kBFloat16:
      return use(numbers.const_data_ptr<at::BFloat16>());
    case at::kLong:
      return use(numbers.const_data_ptr<std::int64_t>());
    default:
      return use(numbers.const_data_ptr<float>());
  }
}

/// Calls `use(output_rows<T>)` with the type the outputs have; they were checked. Of shape [N] they have one class.
template <class F>
void with_rows_of(const at::Tensor& outputs, F&& use) {
  const std::int64_t classes = outputs.dim() == 1 ? 1 : outputs.size(1);
  const std::int64_t class_stride = outputs.dim() == 1 ? 1 : outputs.stride(1);
  with_elements_of(outputs, [&]<class T>(const T* data) {
    use(output_rows<T>{data, outputs.size(0), classes, outputs.stride(0), class_stride});
  });
}

/// The class a sample is taken for: the greatest output, the first of equal ones, and NaN above everything, as
/// torch.argmax.
template <class T>
std::int64_t argmax(const output_rows<T>& rows, std::int64_t sample) noexcept {
  std::int64_t best = 0;
  auto greatest = rows.at(sample, 0);
  for (std::int64_t j = 1; j < rows.classes; ++j) {
    const auto value = rows.at(sample, j);
    if (value <= greatest || std::isnan(greatest)) continue;
    greatest = value;
    best = j;
  }
  return best;
}

/// How many classes rank before `label` in that same order: argmax is the class of rank 0.
template <class T>
std::int64_t rank_of(const output_rows<T>& rows, std::int64_t sample, std::int64_t label) noexcept {
  const auto own = rows.at(sample, label);
  const bool own_is_nan = std::isnan(own);
  std::int64_t rank = 0;
  for (std::int64_t j = 0; j < label; ++j) {
    const auto value = rows.at(sample, j);
    rank += own_is_nan ? std::isnan(value) : !(value < own);
  }
  for (std::int64_t j = label + 1; j < rows.classes; ++j) rank += !own_is_nan && !(rows.at(sample, j) <= own);
  return rank;
}

}  // namespace troupe
