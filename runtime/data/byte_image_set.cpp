#include "runtime/data/byte_image_set.hpp"

#include <algorithm>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/data/new_tensor.hpp"

namespace troupe {

namespace {

expected<at::Tensor> read_column(const byte_column& column, sample_range samples, std::uint64_t width,
                                 const std::string& where) {
  expected<at::Tensor> bytes = new_tensor({static_cast<std::int64_t>(samples.size() * width)}, at::kByte, where);
  if (!bytes) return bytes;
  const std::span room(bytes->mutable_data_ptr<std::uint8_t>(), samples.size() * width);
  TROUPE_TRY(column.read(samples, width, room));
  return bytes;
}

class byte_image_set final : public data_set {
 public:
  explicit byte_image_set(byte_image_layout layout) : layout_(std::move(layout)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return layout_.size; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return layout_.shape; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return layout_.classes; }
  [[nodiscard]] std::string name() const override { return layout_.name; }
  [[nodiscard]] std::string reading() const override { return layout_.reading; }
  [[nodiscard]] std::vector<std::string> files() const override {
    if (layout_.pixels.path == layout_.labels.path) return {layout_.pixels.path};
    return {layout_.pixels.path, layout_.labels.path};
  }

  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    TROUPE_CHECK(range.begin <= range.end && range.end <= layout_.size, "only samples of the data set are read");
    at::Tensor inputs = TROUPE_TRY(new_tensor(with_rows(range.size(), layout_.shape), at::kFloat, layout_.name));
    at::Tensor labels = TROUPE_TRY(new_tensor(with_rows(range.size(), {}), at::kLong, layout_.name));
    if (auto decoded = decode_pixels(range, inputs.mutable_data_ptr<float>()); !decoded) {
      return tl::make_unexpected(decoded.error());
    }
    if (auto decoded = decode_labels(range, labels.mutable_data_ptr<std::int64_t>()); !decoded) {
      return tl::make_unexpected(decoded.error());
    }
    return sample_block{std::move(inputs), std::move(labels)};
  }

 private:
  [[nodiscard]] expected<void> decode_pixels(sample_range range, float* out) const {
    auto bytes = TROUPE_TRY(read_column(layout_.pixels, range, elements_of(layout_.shape), layout_.name));
    bytes_to_unit_floats(bytes.const_data_ptr<std::uint8_t>(), out, static_cast<std::size_t>(bytes.numel()));
    return {};
  }

  [[nodiscard]] expected<void> decode_labels(sample_range range, std::int64_t* out) const {
    auto bytes = TROUPE_TRY(read_column(layout_.labels, range, 1, layout_.name));
    std::copy_n(bytes.const_data_ptr<std::uint8_t>(), bytes.numel(), out);
    return {};
  }

  byte_image_layout layout_;
};

bool lies_inside(const byte_column& column, std::uint64_t size, std::uint64_t bytes_per_sample) {
  return column.offset + (size - 1) * column.stride + bytes_per_sample <= column.region->size();
}

tl::unexpected<error> no_class(const byte_image_layout& layout, std::uint64_t sample, std::uint8_t label) {
  const std::uint64_t offset = layout.labels.offset + sample * layout.labels.stride;
  return fail(error_code::data_label_out_of_range,
              layout.labels.path + ", byte " + std::to_string(offset) + ", sample " + std::to_string(sample),
              "expected a label from 0 to " + std::to_string(layout.classes - 1) + ", found " + std::to_string(label),
              "check that this is the right file for this kind of data, and fetch it again");
}

/// The number of classes.
expected<std::uint32_t> check_labels(const byte_image_layout& layout) {
  std::uint32_t classes = layout.classes;
  for (std::uint64_t begin = 0; begin < layout.size; begin += limits::decode_block_bytes) {
    const sample_range samples{begin, std::min(layout.size, begin + limits::decode_block_bytes)};
    const auto labels = TROUPE_TRY(read_column(layout.labels, samples, 1, layout.name));
    const auto* found = labels.const_data_ptr<std::uint8_t>();
    for (std::uint64_t i = 0; i < samples.size(); ++i) {
      if (found[i] < classes) continue;
      if (!layout.takes_more_classes) return no_class(layout, begin + i, found[i]);
      classes = std::uint32_t{found[i]} + 1;
    }
  }
  return classes;
}

}  // namespace

expected<data_set_ptr> make_byte_image_set(byte_image_layout layout) {
  TROUPE_CHECK(layout.size > 0, "empty files were refused");
  TROUPE_CHECK(lies_inside(layout.pixels, layout.size, elements_of(layout.shape)), "lengths were checked");
  TROUPE_CHECK(lies_inside(layout.labels, layout.size, 1), "lengths were checked");
  const std::uint32_t classes = TROUPE_TRY(check_labels(layout));
  layout.classes = classes;
  return std::make_shared<const byte_image_set>(std::move(layout));
}

void bytes_to_unit_floats(const std::uint8_t* __restrict in, float* __restrict out, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(in[i]) / 255.0F;
}

}  // namespace troupe
