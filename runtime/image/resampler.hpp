#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/image/picture_steps.hpp"
#include "runtime/image/weigh.hpp"

namespace troupe {

/// Takes the rows of a picture and writes it, resized, cut and normalised, as float32 [3, height, width]. As in Pillow,
/// a row is resized first and rounded to bytes, and rows are then added up. Only what the cut leaves is computed, and
/// only the rows that one new row needs are kept.
class resampler final : public row_sink {
 public:
  /// All of them outlive this. `into` has room for the size that is wanted.
  resampler(const picture_steps& steps, const pixel_numbers& numbers, const std::string& place, picture_size wanted,
            std::span<float> into)
      : steps_(steps), numbers_(numbers), place_(place), wanted_(wanted), into_(into) {}

  /// E0304 for a picture that gets another size.
  expected<void> begin(picture_size size) override;
  void row(const std::uint8_t* pixels) override;

 private:
  void fill_outside();
  [[nodiscard]] std::uint8_t* kept_row(std::uint64_t index);
  void make_rows_to(std::uint32_t last);
  void weigh_across(const std::uint8_t* row, std::uint8_t* out) const;
  void write_row(std::uint32_t index, const std::uint8_t* pixels);

  const picture_steps& steps_;
  const pixel_numbers& numbers_;
  const std::string& place_;
  picture_size wanted_;
  std::span<float> into_;

  weigh_functions weighing_ = fastest_weighing();
  sample_weights columns_;
  std::vector<std::uint32_t> first_columns_;
  sample_weights rows_;
  /// Where the computed part begins in the result, and its width.
  std::uint32_t left_ = 0;
  std::uint32_t top_ = 0;
  std::uint32_t width_ = 0;
  bool rows_first_ = false;
  /// The last rows_.most rows, resized unless rows come first; row r is number r % rows_.most.
  std::vector<std::uint8_t> kept_;
  std::size_t kept_bytes_ = 0;
  std::vector<const std::uint8_t*> summed_;
  /// A sum of kept rows, and the row of the result where that is another one.
  std::vector<std::uint8_t> sum_;
  std::vector<std::uint8_t> made_;
  std::uint32_t next_row_ = 0;
  std::size_t next_made_ = 0;
};

}  // namespace troupe
