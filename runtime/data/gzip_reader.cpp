#include <algorithm>
#include <utility>

#include <zlib.h>

#include <troupe/messages/check.hpp>
#include <troupe/runtime/data/gzip_reader.hpp>

namespace troupe {

namespace {

/// zlib counts in 32 bits.
constexpr std::size_t step_bytes_max = std::size_t{1} << 30;
constexpr int gzip_window = 15 + 16;
constexpr const char* fetch_again = "fetch the file again";

}  // namespace

struct gzip_reader::stream {
  z_stream z{};
  /// Packed bytes that zlib has not been given yet.
  std::span<const std::uint8_t> rest;
};

gzip_reader::gzip_reader(std::string path, std::span<const std::uint8_t> packed)
    : path_(std::move(path)), packed_(packed), stream_(std::make_unique<stream>()) {
  stream_->rest = packed;
  TROUPE_CHECK(inflateInit2(&stream_->z, gzip_window) == Z_OK, "zlib matches its header and has memory for a window");
}

gzip_reader::~gzip_reader() {
  inflateEnd(&stream_->z);
}

bool gzip_reader::looks_packed(std::span<const std::uint8_t> bytes) noexcept {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
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
  if (z.avail_in == 0) {
    const std::span<const std::uint8_t> chunk = stream_->rest.first(std::min(stream_->rest.size(), step_bytes_max));
    stream_->rest = stream_->rest.subspan(chunk.size());
    z.next_in = const_cast<Bytef*>(chunk.data());
    z.avail_in = static_cast<uInt>(chunk.size());
  }
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
                "the gzip data end after " + std::to_string(packed_.size()) + " packed bytes, in the middle",
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
  const std::uint64_t left = z.avail_in + stream_->rest.size();
  if (left == 0) {
    phase_ = phase::ended;
    return {};
  }
  const std::span<const std::uint8_t> following = packed_.last(left);
  if (!looks_packed(following)) {
    return fail(error_code::data_bad_format, path_ + ", byte " + std::to_string(packed_.size() - left),
                std::to_string(left) + " bytes follow the end of the gzip data", fetch_again);
  }
  TROUPE_CHECK(inflateReset(&z) == Z_OK, "the stream was initialised");
  return {};
}

}  // namespace troupe
