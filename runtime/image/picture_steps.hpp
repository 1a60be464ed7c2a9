#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "runtime/image/picture.hpp"
#include "runtime/image/sample_weights.hpp"

namespace troupe {

/// Where the middle of a picture is, if the rest on both sides is not equal.
enum class crop_rule : std::uint8_t {
  torchvision,   ///< torchvision's CenterCrop: half a pixel is rounded to even
  hugging_face,  ///< center_crop of transformers: half a pixel is rounded to the upper left
};

/// How a byte becomes a number before it is normalised.
enum class scale_rule : std::uint8_t {
  divide,    ///< float32(byte) / 255, as torchvision's ToTensor
  multiply,  ///< float32(double(byte) * factor), as transformers' rescale
};

/// The evaluation transforms of torchvision and transformers: resize, centre crop, to float32, normalise.
struct picture_steps {
  /// The shorter side gets this length, and the other one int(length * longer / shorter).
  std::optional<std::uint32_t> shorter_side = {};
  /// Or: both sides.
  std::optional<picture_size> resize = {};
  /// Cut out of the middle. Where it is larger than the picture, zeros surround it.
  std::optional<picture_size> crop = {};
  picture_filter filter = picture_filter::bilinear;
  crop_rule cropping = crop_rule::torchvision;
  scale_rule scaling = scale_rule::divide;
  double scale_factor = 1.0 / 255;
  /// (x - mean) / deviation for red, green and blue; neither: as it is.
  std::optional<std::array<double, 3>> mean = {};
  std::optional<std::array<double, 3>> deviation = {};
};

/// What a side of a picture goes through: resized from `from` to `to` pixels, of which `count` are taken from `begin`.
/// They may lie outside of [0, to), where zeros are.
struct side_steps {
  std::uint32_t from = 1;
  std::uint64_t to = 1;
  std::int64_t begin = 0;
  std::uint32_t count = 1;
};

struct picture_plan {
  side_steps columns;
  side_steps rows;
  /// Rows are added up before columns. Each pass rounds to bytes, so that the order can change a byte by 1. Pillow 13
  /// chooses by the number of lines that vanish; before, columns came first.
  bool rows_first = false;
};

/// Sizes at each step for a picture of that size.
picture_plan plan_steps(const picture_steps& steps, picture_size size);

/// The size after all steps, whatever the picture; nothing if it depends on the picture.
std::optional<picture_size> fixed_size(const picture_steps& steps);

/// The float32 number of each byte, for red, green and blue.
class pixel_numbers {
 public:
  explicit pixel_numbers(const picture_steps& steps);
  [[nodiscard]] const float* channel(std::size_t index) const noexcept { return numbers_[index].data(); }

 private:
  std::array<std::array<float, 256>, 3> numbers_{};
};

/// Decodes pictures into tensors. Any number of threads may use one.
class picture_reader {
 public:
  explicit picture_reader(const picture_steps& steps) : steps_(steps), numbers_(steps) {}

  [[nodiscard]] const picture_steps& steps() const noexcept { return steps_; }
  /// The picture as float32 [3, size.height, size.width], which `into` has room for. Memory: some rows, and what
  /// decode_picture takes. Errors: as decode_picture; E0304 where the picture gets another size than `size`.
  expected<void> read(std::span<const std::uint8_t> file, const std::string& place, picture_size size,
                      std::span<float> into) const;

 private:
  picture_steps steps_;
  pixel_numbers numbers_;
};

}  // namespace troupe
