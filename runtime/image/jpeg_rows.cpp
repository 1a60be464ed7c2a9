#include <cstdio>
// jpeglib.h needs the types of cstdio
#include <array>
#include <memory>

#include <jerror.h>
#include <jpeglib.h>

#include "messages/try.hpp"
#include "runtime/image/decoders.hpp"

namespace troupe {
namespace {

/// Rows that are asked for at a time.
constexpr std::size_t rows_at_once = 16;

enum class jpeg_end : std::uint8_t { damaged, truncated, scans };

class jpeg_reader {
 public:
  jpeg_reader(std::span<const std::uint8_t> file, const std::string& place) : file_(file), place_(place) {
    decoder_.err = jpeg_std_error(&errors_.functions);
    errors_.functions.error_exit = &on_error;
    errors_.functions.emit_message = [](j_common_ptr, int) {};
    errors_.functions.output_message = [](j_common_ptr) {};
  }
  jpeg_reader(const jpeg_reader&) = delete;
  jpeg_reader& operator=(const jpeg_reader&) = delete;
  ~jpeg_reader() {
    if (is_made_) jpeg_destroy_decompress(&decoder_);
  }

  expected<picture_size> read_header() {
    if (!returns_from(errors_.place, [&] { start(); })) return failure();
    const picture_size size{decoder_.image_width, decoder_.image_height};
    TROUPE_TRY(check_size(place_, size));
    if (decoder_.num_components != 1 && decoder_.num_components != 3 && decoder_.num_components != 4) {
      return damaged_picture(place_,
                             "has " + std::to_string(decoder_.num_components) + " components, expected 1, 3 or 4");
    }
    return size;
  }

  /// After read_header().
  expected<void> read_rows(row_sink& sink) {
    if (jpeg_has_multiple_scans(&decoder_) != 0) {
      TROUPE_TRY(
          check_memory(place_, "a JPEG of several scans, as progressive ones are", coefficient_bytes(), file_.size()));
    }
    is_inverted_ = decoder_.num_components == 4;
    decoder_.out_color_space = is_inverted_ ? JCS_CMYK : JCS_EXT_RGBX;
    decoder_.progress = &progress_.functions;
    progress_.functions.progress_monitor = &on_progress;
    if (!returns_from(errors_.place, [&] { jpeg_start_decompress(&decoder_); })) return failure();
    const std::size_t stride = std::size_t{decoder_.output_width} * pixel_bytes + row_slack_bytes;
    std::vector<std::uint8_t> rows(stride * rows_at_once);
    std::array<JSAMPROW, rows_at_once> starts{};
    for (std::size_t i = 0; i < rows_at_once; ++i) starts[i] = rows.data() + i * stride;
    while (decoder_.output_scanline < decoder_.output_height) {
      if (!returns_from(errors_.place, [&] { got_ = jpeg_read_scanlines(&decoder_, starts.data(), rows_at_once); })) {
        return failure();
      }
      for (std::size_t i = 0; i < got_; ++i) {
        if (is_inverted_) to_colours(starts[i]);
        sink.row(starts[i]);
      }
    }
    if (!returns_from(errors_.place, [&] { jpeg_finish_decompress(&decoder_); })) return failure();
    return {};
  }

 private:
  struct error_handler {
    jpeg_error_mgr functions;
    std::jmp_buf place;
    jpeg_end end = jpeg_end::damaged;
  };
  struct progress_handler {
    jpeg_progress_mgr functions;
  };

  [[noreturn]] static void on_error(j_common_ptr decoder) {
    auto* handler = reinterpret_cast<error_handler*>(decoder->err);
    std::longjmp(handler->place, 1);
  }
  static boolean on_end_of_file(j_decompress_ptr decoder) {
    reinterpret_cast<error_handler*>(decoder->err)->end = jpeg_end::truncated;
    on_error(reinterpret_cast<j_common_ptr>(decoder));
  }
  static void on_progress(j_common_ptr decoder) {
    if (reinterpret_cast<j_decompress_ptr>(decoder)->input_scan_number <= jpeg_scans_max) return;
    reinterpret_cast<error_handler*>(decoder->err)->end = jpeg_end::scans;
    on_error(decoder);
  }

  void start() {
    jpeg_create_decompress(&decoder_);
    is_made_ = true;
    jpeg_mem_src(&decoder_, file_.data(), file_.size());
    decoder_.src->fill_input_buffer = &on_end_of_file;
    jpeg_read_header(&decoder_, TRUE);
  }

  [[nodiscard]] std::uint64_t coefficient_bytes() const {
    std::uint64_t blocks = 0;
    for (int i = 0; i < decoder_.num_components; ++i) {
      const jpeg_component_info& each = decoder_.comp_info[i];
      blocks += (std::uint64_t{each.width_in_blocks} + each.h_samp_factor) *
                (std::uint64_t{each.height_in_blocks} + each.v_samp_factor);
    }
    return blocks * sizeof(JBLOCK);
  }

  /// Files with four inks have them inverted, as Adobe's programs write them.
  void to_colours(std::uint8_t* row) const {
    for (JDIMENSION x = 0; x < decoder_.output_width; ++x, row += pixel_bytes) {
      const unsigned white = row[3];
      for (std::size_t c = 0; c < 3; ++c) {
        const unsigned product = (255U - row[c]) * white + 128U;
        const unsigned taken = ((product >> 8U) + product) >> 8U;
        row[c] = static_cast<std::uint8_t>(white > taken ? white - taken : 0U);
      }
    }
  }

  [[nodiscard]] tl::unexpected<error> failure() {
    if (errors_.end == jpeg_end::truncated) return truncated_picture(place_, file_.size());
    if (errors_.end == jpeg_end::scans) {
      return fail(error_code::data_unreadable, place_, "has more than " + std::to_string(jpeg_scans_max) + " scans",
                  "save the picture again, with fewer scans");
    }
    std::array<char, JMSG_LENGTH_MAX> text{};
    errors_.functions.format_message(reinterpret_cast<j_common_ptr>(&decoder_), text.data());
    return damaged_picture(place_, std::string("is no JPEG that can be decoded: ") + text.data());
  }

  std::span<const std::uint8_t> file_;
  const std::string& place_;
  jpeg_decompress_struct decoder_{};
  error_handler errors_{};
  progress_handler progress_{};
  JDIMENSION got_ = 0;
  bool is_made_ = false;
  bool is_inverted_ = false;
};

}  // namespace

expected<picture_size> read_jpeg_size(std::span<const std::uint8_t> file, const std::string& place) {
  return jpeg_reader(file, place).read_header();
}

expected<void> decode_jpeg(std::span<const std::uint8_t> file, const std::string& place, row_sink& sink) {
  jpeg_reader reader(file, place);
  const picture_size size = TROUPE_TRY(reader.read_header());
  TROUPE_TRY(sink.begin(size));
  return reader.read_rows(sink);
}

}  // namespace troupe
