#include "runtime/exported/exported_tensor.hpp"

#include <array>
#include <utility>

#include "messages/try.hpp"

namespace troupe {
namespace {

constexpr std::array<std::pair<std::int64_t, c10::ScalarType>, 18> dtypes{{
    {1, c10::ScalarType::Byte},
    {2, c10::ScalarType::Char},
    {3, c10::ScalarType::Short},
    {4, c10::ScalarType::Int},
    {5, c10::ScalarType::Long},
    {6, c10::ScalarType::Half},
    {7, c10::ScalarType::Float},
    {8, c10::ScalarType::Double},
    {9, c10::ScalarType::ComplexHalf},
    {10, c10::ScalarType::ComplexFloat},
    {11, c10::ScalarType::ComplexDouble},
    {12, c10::ScalarType::Bool},
    {13, c10::ScalarType::BFloat16},
    {28, c10::ScalarType::UInt16},
    {29, c10::ScalarType::Float8_e4m3fn},
    {30, c10::ScalarType::Float8_e5m2},
    {31, c10::ScalarType::Float8_e4m3fnuz},
    {32, c10::ScalarType::Float8_e5m2fnuz},
}};
constexpr std::int64_t strided_code = 7;
constexpr std::int64_t mkldnn_code = 6;
constexpr std::array formats{c10::MemoryFormat::Contiguous, c10::MemoryFormat::ChannelsLast,
                             c10::MemoryFormat::ChannelsLast3d, c10::MemoryFormat::Preserve};

}  // namespace

expected<c10::ScalarType> exported_dtype(const json_part& code) {
  const std::int64_t number = TROUPE_TRY(code.integer());
  for (const auto& [known, dtype] : dtypes) {
    if (known == number) return dtype;
  }
  return code.wrong("is " + std::to_string(number) + ", which is no type of numbers");
}

expected<c10::Layout> exported_layout(const json_part& code) {
  const std::int64_t number = TROUPE_TRY(code.integer());
  if (number == strided_code) return c10::Layout::Strided;
  if (number == mkldnn_code) return c10::Layout::Mkldnn;
  return fail(error_code::model_unsupported, code.where(),
              "the model has a sparse tensor (layout " + std::to_string(number) + "), and dense ones alone are read",
              "make its weights dense before the export: tensor.to_dense()");
}

expected<c10::MemoryFormat> exported_memory_format(const json_part& code) {
  const std::int64_t number = TROUPE_TRY(code.integer());
  if (number < 1 || number > static_cast<std::int64_t>(formats.size())) {
    return code.wrong("is " + std::to_string(number) + ", which is no memory format");
  }
  return formats.at(static_cast<std::size_t>(number - 1));
}

expected<void> check_device(const json_part& device) {
  const std::string type = TROUPE_TRY(TROUPE_TRY(device.at("type")).text());
  if (type == "cpu") return {};
  return fail(error_code::model_unsupported, device.where(), "the model was exported on the device \"" + type + "\"",
              "export it on the CPU: model.cpu(), and no device=\"cuda\" or .cuda() in its code");
}

expected<std::optional<std::int64_t>> exported_size(const json_part& size) {
  const tagged_part part = TROUPE_TRY(size.tagged());
  if (part.kind == "as_expr") return std::nullopt;
  if (part.kind != "as_int") return size.wrong("is no size");
  return TROUPE_TRY(part.value.integer());
}

expected<exported_tensor> tensor_meta(const json_part& meta) {
  exported_tensor tensor;
  tensor.dtype = TROUPE_TRY(exported_dtype(TROUPE_TRY(meta.at("dtype"))));
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(meta.at("sizes")).items())) {
    tensor.sizes.push_back(TROUPE_TRY(exported_size(each)));
  }
  tensor.requires_grad = TROUPE_TRY(TROUPE_TRY(meta.at("requires_grad")).truth());
  const json_part layout = TROUPE_TRY(meta.at("layout"));
  if (TROUPE_TRY(exported_layout(layout)) != c10::Layout::Strided) return layout.wrong("is none of a plain tensor");
  TROUPE_TRY(check_device(TROUPE_TRY(meta.at("device"))));
  return tensor;
}

}  // namespace troupe
