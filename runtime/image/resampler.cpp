#include "runtime/image/resampler.hpp"

#include <algorithm>

namespace troupe {
namespace {

struct computed_part {
  std::uint64_t begin = 0;
  std::uint32_t count = 0;
  /// In the result.
  std::uint32_t at = 0;
};

/// What lies inside of the picture.
computed_part inside(const side_steps& side) {
  const std::int64_t begin = std::max<std::int64_t>(side.begin, 0);
  const std::int64_t end = std::min(side.begin + std::int64_t{side.count}, static_cast<std::int64_t>(side.to));
  return {static_cast<std::uint64_t>(begin), static_cast<std::uint32_t>(end - begin),
          static_cast<std::uint32_t>(begin - side.begin)};
}

/// Moves the weights of the last pixels so that no pixel behind the row has one, also none of 0: all but one where the
/// row is shorter than `most`.
std::vector<std::uint32_t> keep_within(sample_weights& weights, std::uint32_t from) {
  std::vector<std::uint32_t> firsts;
  firsts.reserve(weights.ranges.size());
  for (std::size_t i = 0; i < weights.ranges.size(); ++i) {
    const std::uint32_t first = weights.ranges[i].first;
    const std::size_t over = first + weights.most > from ? first + weights.most - from : 0;
    const auto moved = static_cast<std::uint32_t>(std::min<std::size_t>(over, first));
    const auto mine = weights.weights.begin() + static_cast<std::ptrdiff_t>(i * weights.most);
    std::rotate(mine, mine + static_cast<std::ptrdiff_t>(weights.most - moved),
                mine + static_cast<std::ptrdiff_t>(weights.most));
    firsts.push_back(first - moved);
  }
  return firsts;
}

std::string text_of(picture_size size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height);
}

}  // namespace

expected<void> resampler::begin(picture_size size) {
  const picture_plan plan = plan_steps(steps_, size);
  const picture_size given{plan.columns.count, plan.rows.count};
  if (given != wanted_) {
    return fail(error_code::data_mismatch, place_,
                "is a picture of " + text_of(size) + " pixels, which gives " + text_of(given) + ", and the others " +
                    text_of(wanted_),
                "bring all pictures to one size, as with resize=256,crop=224");
  }
  const computed_part across = inside(plan.columns);
  const computed_part down = inside(plan.rows);
  columns_ = weights_of(steps_.filter, plan.columns.from, plan.columns.to, across.begin, across.count);
  first_columns_ = keep_within(columns_, plan.columns.from);
  rows_ = weights_of(steps_.filter, plan.rows.from, plan.rows.to, down.begin, down.count);
  left_ = across.at;
  top_ = down.at;
  width_ = across.count;
  rows_first_ = plan.rows_first;
  kept_bytes_ = std::size_t{rows_first_ ? size.width : width_} * pixel_bytes;
  kept_.resize(rows_.most * (kept_bytes_ + row_slack_bytes));
  sum_.resize(kept_bytes_ + row_slack_bytes);
  made_.resize(rows_first_ ? width_ * pixel_bytes + row_slack_bytes : 0);
  if (across.count < wanted_.width || down.count < wanted_.height) fill_outside();
  return {};
}

void resampler::fill_outside() {
  const std::size_t plane = std::size_t{wanted_.width} * wanted_.height;
  for (std::size_t c = 0; c < 3; ++c) std::ranges::fill(into_.subspan(c * plane, plane), numbers_.channel(c)[0]);
}

std::uint8_t* resampler::kept_row(std::uint64_t index) {
  return kept_.data() + index % rows_.most * (kept_bytes_ + row_slack_bytes);
}

void resampler::row(const std::uint8_t* pixels) {
  const std::uint32_t index = next_row_++;
  if (next_made_ == rows_.ranges.size() || index < rows_.ranges[next_made_].first) return;
  if (rows_first_) {
    std::copy_n(pixels, kept_bytes_, kept_row(index));
  } else {
    weigh_across(pixels, kept_row(index));
  }
  make_rows_to(index);
}

void resampler::weigh_across(const std::uint8_t* row, std::uint8_t* out) const {
  weighing_.across(row, first_columns_.data(), columns_.weights.data(), columns_.most, width_, out);
}

void resampler::make_rows_to(std::uint32_t last) {
  for (; next_made_ < rows_.ranges.size(); ++next_made_) {
    const auto [first, count] = rows_.ranges[next_made_];
    if (first + count - 1 > last) return;
    summed_.clear();
    for (std::uint32_t k = 0; k < count; ++k) summed_.push_back(kept_row(std::uint64_t{first} + k));
    weighing_.down(summed_.data(), rows_.weights.data() + next_made_ * rows_.most, count, kept_bytes_, sum_.data());
    if (rows_first_) weigh_across(sum_.data(), made_.data());
    write_row(top_ + static_cast<std::uint32_t>(next_made_), rows_first_ ? made_.data() : sum_.data());
  }
}

void resampler::write_row(std::uint32_t index, const std::uint8_t* pixel) {
  const std::size_t plane = std::size_t{wanted_.width} * wanted_.height;
  float* red = into_.data() + std::size_t{index} * wanted_.width + left_;
  float* green = red + plane;
  float* blue = green + plane;
  const float* reds = numbers_.channel(0);
  const float* greens = numbers_.channel(1);
  const float* blues = numbers_.channel(2);
  for (std::uint32_t x = 0; x < width_; ++x, pixel += pixel_bytes) {
    red[x] = reds[pixel[0]];
    green[x] = greens[pixel[1]];
    blue[x] = blues[pixel[2]];
  }
}

weigh_functions fastest_weighing() {
#if defined(__x86_64__)
  static const bool has_avx2 = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") != 0;
  }();
  if (has_avx2) return avx2_weighing();
#endif
  return portable_weighing();
}

}  // namespace troupe
