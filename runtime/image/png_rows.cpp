#include <algorithm>
#include <array>
#include <cstring>

#include <png.h>

#include "messages/try.hpp"
#include "runtime/image/decoders.hpp"

namespace troupe {
namespace {

class png_reader {
 public:
  png_reader(std::span<const std::uint8_t> file, const std::string& place) : file_(file), place_(place) {}
  png_reader(const png_reader&) = delete;
  png_reader& operator=(const png_reader&) = delete;
  ~png_reader() { png_destroy_read_struct(&decoder_, &info_, nullptr); }

  expected<picture_size> read_header() {
    decoder_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &on_error, [](png_structp, png_const_charp) {});
    info_ = decoder_ == nullptr ? nullptr : png_create_info_struct(decoder_);
    if (info_ == nullptr)
      return fail(error_code::data_unreadable, place_, "no memory to decode it", "end other programs");
    if (!returns_from(jump_, [&] { start(); })) return failure();
    const picture_size size{png_get_image_width(decoder_, info_), png_get_image_height(decoder_, info_)};
    TROUPE_TRY(check_size(place_, size));
    return size;
  }

  /// After read_header().
  expected<void> read_rows(picture_size size, row_sink& sink) {
    if (!returns_from(jump_, [&] { choose_form(); })) return failure();
    const std::size_t stride = std::max(row_bytes_, std::size_t{size.width} * pixel_bytes) + row_slack_bytes;
    const std::size_t rows = is_interlaced_ ? size.height : 1;
    const std::size_t pointer_bytes = is_interlaced_ ? rows * sizeof(png_bytep) : 0;
    if (is_interlaced_)
      TROUPE_TRY(check_memory(place_, "an interlaced PNG", rows * stride + pointer_bytes, file_.size()));
    std::vector<std::uint8_t> room(rows * stride);
    std::vector<png_bytep> starts(rows);
    for (std::size_t i = 0; i < rows; ++i) starts[i] = room.data() + i * stride;
    if (is_interlaced_ && !returns_from(jump_, [&] { png_read_image(decoder_, starts.data()); })) return failure();
    std::vector<std::uint8_t> pixels(has_own_form() ? size.width * pixel_bytes + row_slack_bytes : 0);
    for (std::uint32_t y = 0; y < size.height; ++y) {
      png_bytep row = starts[is_interlaced_ ? y : 0];
      if (!is_interlaced_ && !returns_from(jump_, [&] { png_read_row(decoder_, row, nullptr); })) return failure();
      sink.row(has_own_form() ? to_pixels(row, size.width, pixels) : row);
    }
    if (!returns_from(jump_, [&] { png_read_end(decoder_, nullptr); })) return failure();
    return {};
  }

 private:
  [[noreturn]] static void on_error(png_structp decoder, png_const_charp text) {
    auto* reader = static_cast<png_reader*>(png_get_error_ptr(decoder));
    std::strncpy(reader->text_.data(), text, reader->text_.size() - 1);
    std::longjmp(reader->jump_, 1);
  }
  static void on_read(png_structp decoder, png_bytep into, png_size_t bytes) {
    auto* reader = static_cast<png_reader*>(png_get_io_ptr(decoder));
    reader->is_truncated_ = reader->file_.size() - reader->at_ < bytes;
    if (reader->is_truncated_) png_error(decoder, "too short");
    std::memcpy(into, reader->file_.data() + reader->at_, bytes);
    reader->at_ += bytes;
  }

  void start() {
    png_set_read_fn(decoder_, this, &on_read);
    png_set_benign_errors(decoder_, 1);
    png_set_user_limits(decoder_, picture_side_max, picture_side_max);
    // No text, profile or other chunk that pixels do not depend on is unpacked.
    png_set_keep_unknown_chunks(decoder_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_read_info(decoder_, info_);
  }

  void choose_form() {
    const png_byte colours = png_get_color_type(decoder_, info_);
    const png_byte bits = png_get_bit_depth(decoder_, info_);
    if (colours == PNG_COLOR_TYPE_PALETTE) {
      form_ = form::palette;
      png_set_packing(decoder_);
      png_colorp colour = nullptr;
      int count = 0;
      png_get_PLTE(decoder_, info_, &colour, &count);
      for (int i = 0; i < count; ++i) palette_[i] = {colour[i].red, colour[i].green, colour[i].blue};
    } else if (colours == PNG_COLOR_TYPE_GRAY && bits == 16) {
      form_ = form::grey_16;
    } else {
      png_set_strip_16(decoder_);
      if (colours == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(decoder_);
      if ((colours & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(decoder_);
      if ((colours & PNG_COLOR_MASK_ALPHA) == 0) png_set_filler(decoder_, 0xff, PNG_FILLER_AFTER);
    }
    is_interlaced_ = png_set_interlace_handling(decoder_) > 1;
    png_read_update_info(decoder_, info_);
    row_bytes_ = png_get_rowbytes(decoder_, info_);
  }

  [[nodiscard]] bool has_own_form() const { return form_ != form::pixels; }

  /// An index behind the palette is black.
  const std::uint8_t* to_pixels(const std::uint8_t* row, std::uint32_t width, std::vector<std::uint8_t>& into) const {
    std::uint8_t* pixel = into.data();
    for (std::size_t x = 0; x < width; ++x, pixel += pixel_bytes) {
      if (form_ == form::palette) {
        std::ranges::copy(palette_[row[x]], pixel);
      } else {
        // As PIL does: more than 8 bits are cut off at 255 and not scaled.
        const std::uint8_t grey = row[2 * x] != 0 ? 255 : row[2 * x + 1];
        std::fill_n(pixel, 3, grey);
      }
    }
    return into.data();
  }

  [[nodiscard]] tl::unexpected<error> failure() const {
    if (is_truncated_) return truncated_picture(place_, file_.size());
    return damaged_picture(place_, std::string("is no PNG that can be decoded: ") + text_.data());
  }

  enum class form : std::uint8_t { pixels, palette, grey_16 };

  std::span<const std::uint8_t> file_;
  const std::string& place_;
  std::jmp_buf jump_{};
  png_structp decoder_ = nullptr;
  png_infop info_ = nullptr;
  std::size_t at_ = 0;
  bool is_truncated_ = false;
  std::array<char, 128> text_{};
  form form_ = form::pixels;
  bool is_interlaced_ = false;
  std::size_t row_bytes_ = 0;
  std::array<std::array<std::uint8_t, 3>, 256> palette_{};
};

}  // namespace

expected<picture_size> read_png_size(std::span<const std::uint8_t> file, const std::string& place) {
  return png_reader(file, place).read_header();
}

expected<void> decode_png(std::span<const std::uint8_t> file, const std::string& place, row_sink& sink) {
  png_reader reader(file, place);
  const picture_size size = TROUPE_TRY(reader.read_header());
  TROUPE_TRY(sink.begin(size));
  return reader.read_rows(size, sink);
}

}  // namespace troupe
