#include "runtime/predictions/json_values.hpp"

#include "runtime/json/number_text.hpp"

namespace troupe {
namespace {

/// Appends what stands from `at` on, in dimensions `sizes`, and moves `at` behind it.
template <class Stored, class Written>
void append_block(std::string& line, at::IntArrayRef sizes, const Stored*& at) {
  if (sizes.empty()) return append_json_number(line, static_cast<Written>(*at++));
  line += '[';
  for (std::int64_t i = 0; i < sizes.front(); ++i) {
    if (i > 0) line += ',';
    append_block<Stored, Written>(line, sizes.slice(1), at);
  }
  line += ']';
}

template <class Stored, class Written>
void append_row(std::string& line, const at::Tensor& values, std::int64_t row) {
  at::IntArrayRef sizes = values.sizes().slice(1);
  if (sizes.size() == 1 && sizes.front() == 1) sizes = {};  // [N, 1] is [N]
  const std::int64_t width = values.size(0) == 0 ? 0 : values.numel() / values.size(0);
  const Stored* at = values.const_data_ptr<Stored>() + row * width;
  append_block<Stored, Written>(line, sizes, at);
}

}  // namespace

void append_json(std::string& line, const at::Tensor& values, std::int64_t row) {
  switch (values.scalar_type()) {
    case at::kDouble:
      return append_row<double, double>(line, values, row);
    case at::kFloat:
      return append_row<float, float>(line, values, row);
    case at::kHalf:
      return append_row<at::Half, float>(line, values, row);
    case at::kBFloat16:
      return append_row<at::BFloat16, float>(line, values, row);
    default:
      return append_row<std::int64_t, std::int64_t>(line, values, row);
  }
}

at::Tensor json_values(const at::Tensor& values) {
  return values.is_floating_point() ? values.contiguous() : values.to(at::kLong).contiguous();
}

}  // namespace troupe
