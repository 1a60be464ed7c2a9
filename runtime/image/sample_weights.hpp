#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe {

/// How a picture is made larger or smaller, by the names of PIL.Image.Resampling. All are antialiased, as PIL's are.
enum class picture_filter : std::uint8_t { box, bilinear, bicubic, lanczos };

/// "bilinear".
std::string_view name_of(picture_filter filter);

/// Bits behind the point of a weight. 8 bits of a pixel and 2 for overshoot leave 22 of 32.
inline constexpr int weight_bits = 22;

/// For some consecutive pixels of a side that was resized: which old pixels count, and with which weight. The weights
/// of one new pixel add up to 1 << weight_bits, but for rounding.
struct sample_weights {
  struct range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  /// One for each new pixel; `first` never falls.
  std::vector<range> ranges;
  /// `most` for each new pixel, of which its count are used, and the rest are 0.
  std::vector<std::int32_t> weights;
  /// Even, and at least 2.
  std::size_t most = 2;
};

/// The weights that Pillow computes for the new pixels [begin, begin + count) of a side of `from` pixels that is
/// resized to `to` pixels. from, to >= 1; from <= picture_side_max.
sample_weights weights_of(picture_filter filter, std::uint32_t from, std::uint64_t to, std::uint64_t begin,
                          std::uint32_t count);

}  // namespace troupe
