#include "runtime/image/picture_steps.hpp"

#include "messages/check.hpp"
#include "runtime/image/resampler.hpp"

namespace troupe {
namespace {

struct wide_size {
  std::uint64_t width = 0;
  std::uint64_t height = 0;
};

wide_size resized(const picture_steps& steps, picture_size size) {
  if (steps.resize) return {steps.resize->width, steps.resize->height};
  if (!steps.shorter_side) return {size.width, size.height};
  const std::uint64_t side = *steps.shorter_side;
  const auto longer = [&](std::uint32_t longer_side, std::uint32_t shorter_side) {
    return static_cast<std::uint64_t>(static_cast<double>(side * longer_side) / shorter_side);
  };
  if (size.width <= size.height) return {side, longer(size.height, size.width)};
  return {longer(size.width, size.height), side};
}

/// Half of `length`, rounded down; half a pixel to even where the crop is a part, as Python's round().
std::int64_t crop_begin(std::uint64_t length, std::uint32_t crop, crop_rule rule) {
  const std::int64_t rest = static_cast<std::int64_t>(length) - crop;
  const std::int64_t half_down = rest >> 1;
  const bool is_odd = (rest & 1) != 0;
  if (rule == crop_rule::hugging_face || !is_odd) return half_down;
  if (rest < 0) return half_down + 1;  // the padding in front is the smaller one
  return half_down + (half_down & 1);
}

side_steps side_of(std::uint32_t from, std::uint64_t to, std::optional<std::uint32_t> crop, crop_rule rule) {
  side_steps side{.from = from, .to = to, .begin = 0, .count = crop.value_or(static_cast<std::uint32_t>(to))};
  if (crop) side.begin = crop_begin(to, *crop, rule);
  return side;
}

}  // namespace

picture_plan plan_steps(const picture_steps& steps, picture_size size) {
  TROUPE_CHECK(size.width >= 1 && size.height >= 1, "a decoder refuses empty pictures");
  const wide_size to = resized(steps, size);
  const auto width = steps.crop ? std::optional(steps.crop->width) : std::nullopt;
  const auto height = steps.crop ? std::optional(steps.crop->height) : std::nullopt;
  picture_plan plan{side_of(size.width, to.width, width, steps.cropping),
                    side_of(size.height, to.height, height, steps.cropping)};
  const std::int64_t fewer_rows = std::int64_t{size.height} - static_cast<std::int64_t>(to.height);
  const std::int64_t fewer_columns = std::int64_t{size.width} - static_cast<std::int64_t>(to.width);
  plan.rows_first = fewer_rows > 0 && fewer_rows > 2 * fewer_columns;
  return plan;
}

std::optional<picture_size> fixed_size(const picture_steps& steps) {
  return steps.crop ? steps.crop : steps.resize;
}

pixel_numbers::pixel_numbers(const picture_steps& steps) {
  for (std::size_t c = 0; c < numbers_.size(); ++c) {
    for (std::size_t byte = 0; byte < numbers_[c].size(); ++byte) {
      float x = steps.scaling == scale_rule::divide
                    ? static_cast<float>(byte) / 255.0F
                    : static_cast<float>(static_cast<double>(byte) * steps.scale_factor);
      if (steps.mean) x -= static_cast<float>((*steps.mean)[c]);
      if (steps.deviation) x /= static_cast<float>((*steps.deviation)[c]);
      numbers_[c][byte] = x;
    }
  }
}

expected<void> picture_reader::read(std::span<const std::uint8_t> file, const std::string& place, picture_size size,
                                    std::span<float> into) const {
  TROUPE_CHECK(into.size() == std::size_t{3} * size.width * size.height, "the caller makes room for the picture");
  resampler sink(steps_, numbers_, place, size, into);
  return decode_picture(file, place, sink);
}

}  // namespace troupe
