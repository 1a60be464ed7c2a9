#pragma once

#include <cstdint>

#include "runtime/kernel/tile.hpp"

// Every output is one chain of fused multiply-adds over the inputs in ascending order. A chain is one lane of one
// vector, so neither the number of rows nor of panels nor the length of a vector changes the bits of an output.
//
// `Vector` is a type in an anonymous namespace of the file that includes this one, so the functions that the compiler
// makes for the type stay within that file. It has `numbers`, `width`, load(), load_part(), store(), store_part(),
// broadcast(), multiply_add(), and finish().

namespace troupe {

template <class Vector, class Number, int rows, int panels>
void compute_tile(const tile_operands& at) {
  constexpr int vectors_in_panel = 16 / Vector::width;
  constexpr int vectors = panels * vectors_in_panel;
  // Inputs whose weights are fetched early: processors do so by themselves, but not from one panel to the next.
  constexpr int ahead = panels == 1 ? 64 : 32;
  using numbers = typename Vector::numbers;
  numbers sums[rows][vectors];
#pragma GCC unroll 8
  for (int m = 0; m < rows; ++m) {
#pragma GCC unroll 64
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t left = at.columns - v * Vector::width;
      sums[m][v] = Vector::load_part(at.start + m * at.start_stride + v * Vector::width, left);
    }
  }
  const auto* weights = static_cast<const Number*>(at.panels);
  for (std::int64_t k = 0; k < at.depth; ++k) {
    if constexpr (rows > 2) {
#pragma GCC unroll 8
      for (int p = 0; p < panels; ++p) __builtin_prefetch(weights + p * at.panel_stride + (k + ahead) * 16);
    }
    numbers w[vectors];
#pragma GCC unroll 64
    for (int v = 0; v < vectors; ++v) {
      const int panel = v / vectors_in_panel;
      const int within = v % vectors_in_panel * Vector::width;
      w[v] = Vector::load(weights + panel * at.panel_stride + k * 16 + within);
    }
#pragma GCC unroll 8
    for (int m = 0; m < rows; ++m) {
      const numbers x = Vector::broadcast(at.x[m * at.x_stride + k]);
#pragma GCC unroll 64
      for (int v = 0; v < vectors; ++v) sums[m][v] = Vector::multiply_add(x, w[v], sums[m][v]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < rows; ++m) {
#pragma GCC unroll 64
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t left = at.columns - v * Vector::width;
      const numbers sum = at.is_last ? Vector::finish(sums[m][v], at.has_relu) : sums[m][v];
      Vector::store_part(at.y + m * at.y_stride + v * Vector::width, sum, left);
    }
  }
}

/// Tiles with as many sums as keep the multipliers busy and fit into the registers: `panels_1` panels by one row,
/// `panels_2` by two, `panels_n` by more.
template <class Vector, class Number, int panels_1, int panels_2, int panels_n>
constexpr tile_set tiles_of() {
  tile_set made;
  const auto add = [&made]<int rows, int panels>() {
    made.of[rows - 1][0] = compute_tile<Vector, Number, rows, 1>;
    if constexpr (panels >= 2) made.of[rows - 1][1] = compute_tile<Vector, Number, rows, 2>;
    if constexpr (panels >= 4) made.of[rows - 1][2] = compute_tile<Vector, Number, rows, 4>;
    if constexpr (panels >= 8) made.of[rows - 1][3] = compute_tile<Vector, Number, rows, 8>;
  };
  add.template operator()<1, panels_1>();
  add.template operator()<2, panels_2>();
  add.template operator()<3, panels_n>();
  add.template operator()<4, panels_n>();
  add.template operator()<5, panels_n>();
  add.template operator()<6, panels_n>();
  return made;
}

}  // namespace troupe
