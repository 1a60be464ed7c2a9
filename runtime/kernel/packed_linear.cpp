#include "runtime/kernel/packed_linear.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "messages/check.hpp"
#include "runtime/kernel/tile.hpp"

namespace troupe {
namespace {

/// Inputs of one range: that of a panel stays in the first cache while the rows of a block go by.
constexpr std::int64_t range_depth = 256;
/// Rows of a block: their part of y stays in the second cache from one range to the next.
constexpr std::int64_t block_rows = 48;
/// Panels of a block: they stay in the second or third cache while all blocks of rows go by.
constexpr std::int64_t block_panels = 8;
/// Multiplications that take longer than to wake a thread.
constexpr std::int64_t worthwhile_work = 1 << 18;
/// Rows that are widened or rounded at a time.
constexpr std::int64_t converted_rows = 128;

std::int64_t divided_up(std::int64_t number, std::int64_t by) {
  return (number + by - 1) / by;
}

const tile_set& tiles_for(vector_width width, bool is_bfloat16) {
#ifdef __x86_64__
  if (width == vector_width::avx512) return is_bfloat16 ? avx512_bfloat16_tiles : avx512_tiles;
  if (width == vector_width::avx2) return is_bfloat16 ? avx2_bfloat16_tiles : avx2_tiles;
#endif
  TROUPE_CHECK(width == vector_width::portable, "other processors have no other width among the usable ones");
  return is_bfloat16 ? portable_bfloat16_tiles : portable_tiles;
}

/// One call of packed_linear() in float32.
struct linear_work {
  const packed_weights& weights;
  const tile_set& tiles;
  row_view<const float> x;
  row_view<float> y;
  std::int64_t rows;
  bool has_relu;
};

struct extent {
  std::int64_t first;
  std::int64_t count;
};

/// The range of inputs `depth` for a block of rows and panels.
void compute_range(const linear_work& work, extent rows, extent panels, extent depth) {
  const packed_weights& weights = work.weights;
  const std::int64_t number_size = weights.is_bfloat16() ? 2 : 4;
  tile_operands at;
  at.x_stride = work.x.stride;
  at.panel_stride = weights.inputs() * panel_width;
  at.depth = depth.count;
  at.y_stride = work.y.stride;
  at.start_stride = depth.first == 0 ? 0 : work.y.stride;
  at.is_last = depth.first + depth.count == weights.inputs();
  at.has_relu = work.has_relu;

  // Nearly equal tiles: of 7 rows, 4 and 3. All have at least 3 rows if there is more than one.
  const std::int64_t row_tiles = divided_up(rows.count, tile_set::rows_max);
  const std::int64_t small_tile = rows.count / row_tiles;
  const std::int64_t large_tiles = rows.count % row_tiles;
  std::int64_t size = 0;
  for (std::int64_t p = 0; p < panels.count; p += std::int64_t{1} << size) {
    size = tile_set::panel_sizes - 1;
    while (work.tiles.of[small_tile - 1][size] == nullptr || p + (std::int64_t{1} << size) > panels.count) --size;
    const std::int64_t panel = panels.first + p;
    const std::int64_t column = panel * panel_width;
    at.columns = std::min((std::int64_t{1} << size) * panel_width, weights.outputs() - column);
    at.panels = static_cast<const std::byte*>(weights.panels()) +
                (panel * weights.inputs() + depth.first) * panel_width * number_size;
    std::int64_t row = rows.first;
    for (std::int64_t tile = 0; tile < row_tiles; ++tile) {
      const std::int64_t tile_rows = small_tile + (tile < large_tiles ? 1 : 0);
      at.x = work.x.data + row * work.x.stride + depth.first;
      at.y = work.y.data + row * work.y.stride + column;
      at.start = depth.first == 0 ? weights.bias() + column : at.y;
      work.tiles.of[tile_rows - 1][size](at);
      row += tile_rows;
    }
  }
}

/// The sums wait in y from one range of inputs to the next, which does not change them.
void compute_block(const linear_work& work, extent rows, extent panels) {
  const std::int64_t inputs = work.weights.inputs();
  // A single tile of rows reads each panel once, whatever its length.
  const std::int64_t depth = rows.count <= tile_set::rows_max ? std::max<std::int64_t>(inputs, 1) : range_depth;
  std::int64_t k = 0;
  do {
    compute_range(work, rows, panels, {k, std::min(depth, inputs - k)});
    k += depth;
  } while (k < inputs);
}

void compute(const linear_work& work, const parallel_for& threads) {
  const std::int64_t panels = divided_up(work.weights.outputs(), panel_width);
  if (work.rows == 0 || panels == 0) return;
  const std::int64_t row_blocks = divided_up(work.rows, block_rows);
  const std::int64_t panel_blocks = divided_up(panels, block_panels);
  const auto compute_blocks = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t row = i % row_blocks * block_rows;
      const std::int64_t panel = i / row_blocks * block_panels;
      compute_block(work, {row, std::min(block_rows, work.rows - row)},
                    {panel, std::min(block_panels, panels - panel)});
    }
  };
  const std::int64_t blocks = row_blocks * panel_blocks;
  if (!threads) return compute_blocks(0, blocks);
  const std::int64_t block_work = std::min(block_rows, work.rows) * block_panels * panel_width * work.weights.inputs();
  threads(blocks, divided_up(worthwhile_work, block_work + 1), compute_blocks);
}

}  // namespace

template <class Number>
void packed_linear(const packed_weights& weights, std::int64_t rows, row_view<const Number> x, row_view<Number> y,
                   const linear_settings& settings) {
  TROUPE_CHECK(rows >= 0, "a tensor has no negative size");
  const tile_set& tiles = tiles_for(settings.width, weights.is_bfloat16());
  if constexpr (std::is_same_v<Number, float>) {
    compute({weights, tiles, x, y, rows, settings.has_relu}, settings.threads);
  } else {
    const std::int64_t inputs = weights.inputs();
    const std::int64_t outputs = weights.outputs();
    std::vector<float> wide_x(static_cast<std::size_t>(std::min(converted_rows, rows) * inputs));
    std::vector<float> wide_y(static_cast<std::size_t>(std::min(converted_rows, rows) * outputs));
    for (std::int64_t first = 0; first < rows; first += converted_rows) {
      const std::int64_t count = std::min(converted_rows, rows - first);
      for (std::int64_t m = 0; m < count; ++m) {
        const Number* from = x.data + (first + m) * x.stride;
        std::transform(from, from + inputs, wide_x.data() + m * inputs, widened);
      }
      compute({weights, tiles, {wide_x.data(), inputs}, {wide_y.data(), outputs}, count, settings.has_relu},
              settings.threads);
      for (std::int64_t m = 0; m < count; ++m) {
        const float* from = wide_y.data() + m * outputs;
        std::transform(from, from + outputs, y.data + (first + m) * y.stride, rounded_to_bfloat16);
      }
    }
  }
}

template void packed_linear(const packed_weights&, std::int64_t, row_view<const float>, row_view<float>,
                            const linear_settings&);
template void packed_linear(const packed_weights&, std::int64_t, row_view<const bfloat16>, row_view<bfloat16>,
                            const linear_settings&);

}  // namespace troupe
