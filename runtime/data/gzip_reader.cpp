#include "runtime/data/gzip_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <zlib.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe {

namespace {

/// zlib counts in 32 bits.
constexpr std::size_t step_bytes_max = std::size_t{1} << 30;
constexpr int gzip_window = 15 + 16;

}  // namespace

struct gzip_reader::stream {
  z_stream z{};
  std::vector<std::uint8_t> block;
  /// The place of the first packed byte that zlib has not been given yet.
  std::uint64_t given = 0;
};

gzip_reader::gzip_reader(std::string path, byte_region_ptr packed)
    : path_(std::move(path)), packed_(std::move(packed)), stream_(std::make_unique<stream>()) {
  TROUPE_CHECK(inflateInit2(&stream_->z, gzip_window) == Z_OK, "zlib matches its header and has memory for a window");
}

gzip_reader::~gzip_reader() {
  inflateEnd(&stream_->z);
}

expected<bool> gzip_reader::looks_packed(const byte_region& bytes, std::uint64_t offset) {
  constexpr std::array<std::uint8_t, 2> magic{0x1f, 0x8b};
  if (bytes.size() < offset + magic.size()) return false;
  std::array<std::uint8_t, 2> found{};
  return bytes.read(offset, found).map([&] { return found == magic; });
}

std::uint64_t gzip_reader::packed_left() const noexcept {
  return stream_->z.avail_in + (packed_->size() - stream_->given);
}

expected<void> gzip_reader::refill() {
  z_stream& z = stream_->z;
  const std::uint64_t left = packed_->size() - stream_->given;
  if (z.avail_in != 0 || left == 0) return {};
  stream_->block.resize(std::min<std::uint64_t>(left, limits::gzip_packed_block_bytes));
  TROUPE_TRY(packed_->read(stream_->given, stream_->block));
  stream_->given += stream_->block.size();
  z.next_in = stream_->block.data();
  z.avail_in = static_cast<uInt>(stream_->block.size());
  return {};
}

std::string gzip_reader::here() const {
  return path_ + ", unpacked byte " + std::to_string(position_);
}

expected<std::size_t> gzip_reader::read(std::span<std::uint8_t> into) {
  std::size_t done = 0;
  while (done < into.size() && phase_ != phase::ended) {
    expected<std::size_t> got = step(into.subspan(done, std::min(into.size() - done, step_bytes_max)));
    if (!got) return got;
    done += *got;
  }
  return done;
}

expected<std::size_t> gzip_reader::step(std::span<std::uint8_t> into) {
  z_stream& z = stream_->z;
  TROUPE_TRY(refill());
  z.next_out = into.data();
  z.avail_out = static_cast<uInt>(into.size());
  const bool no_input_left = z.avail_in == 0;
  const int code = inflate(&z, Z_NO_FLUSH);
  const std::size_t got = into.size() - z.avail_out;
  position_ += got;
  if (code == Z_STREAM_END) {
    if (expected<void> end = end_member(); !end) return tl::make_unexpected(end.error());
    return got;
  }
  if (code == Z_BUF_ERROR && no_input_left) {
    return fail(error_code::data_truncated, here(),
                "the gzip data end after " + std::to_string(packed_->size()) + " packed bytes, in the middle",
                fetch_again);
  }
  if (code != Z_OK && code != Z_BUF_ERROR) {
    const std::string why = z.msg != nullptr ? z.msg : "it needs a dictionary";
    return fail(error_code::data_bad_format, here(), "the gzip data are damaged: " + why, fetch_again);
  }
  return got;
}

expected<void> gzip_reader::end_member() {
  z_stream& z = stream_->z;
  const std::uint64_t left = packed_left();
  if (left == 0) {
    phase_ = phase::ended;
    return {};
  }
  const auto goes_on = TROUPE_TRY(looks_packed(*packed_, packed_->size() - left));
  if (!goes_on) {
    return fail(error_code::data_bad_format, path_ + ", byte " + std::to_string(packed_->size() - left),
                std::to_string(left) + " bytes follow the end of the gzip data", fetch_again);
  }
  TROUPE_CHECK(inflateReset(&z) == Z_OK, "the stream was initialised");
  return {};
}

}  // namespace troupe
