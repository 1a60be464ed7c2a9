#include "runtime/archive/zip_content.hpp"

#include <algorithm>
#include <string>

#include <zlib.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

using taker = std::function<void(std::string_view piece)>;

constexpr int raw_deflate_window = -15;

tl::unexpected<zip_fault> altered(const zip_entry& entry, const std::string& cause) {
  return tl::make_unexpected(zip_fault{zip_fault::kind::altered, "its zip entry " + entry.name + " " + cause});
}

/// The bytes of an entry as they lie in the file, piece by piece.
zip_expected<void> read_pieces(std::istream& file, const zip_entry& entry,
                               const std::function<zip_expected<void>(std::string_view)>& take) {
  std::string piece(std::min<std::uint64_t>(limits::model_read_bytes, entry.packed_bytes), '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(entry.offset));
  for (std::uint64_t left = entry.packed_bytes; left > 0;) {
    const std::uint64_t wanted = std::min<std::uint64_t>(left, piece.size());
    file.read(piece.data(), static_cast<std::streamsize>(wanted));
    if (static_cast<std::uint64_t>(file.gcount()) != wanted) {
      return tl::make_unexpected(zip_fault{zip_fault::kind::truncated, "the file became shorter while it was read"});
    }
    TROUPE_TRY(take({piece.data(), wanted}));
    left -= wanted;
  }
  return {};
}

class unpacker {
 public:
  explicit unpacker(const zip_entry& entry) : entry_(entry), room_(limits::model_read_bytes, '\0') {
    TROUPE_CHECK(inflateInit2(&z_, raw_deflate_window) == Z_OK, "zlib matches its header and has memory for a window");
  }
  unpacker(const unpacker&) = delete;
  unpacker& operator=(const unpacker&) = delete;
  ~unpacker() { inflateEnd(&z_); }

  zip_expected<void> add(std::string_view packed, const taker& take) {
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    z_.avail_in = static_cast<uInt>(packed.size());
    while (!ended_ && (z_.avail_in > 0 || z_.avail_out == 0)) {
      z_.next_out = reinterpret_cast<Bytef*>(room_.data());
      z_.avail_out = static_cast<uInt>(room_.size());
      const int code = inflate(&z_, Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return altered(entry_, "cannot be unpacked");
      const std::size_t got = room_.size() - z_.avail_out;
      done_ += got;
      if (done_ > entry_.bytes) return altered(entry_, "unpacks to more than its size");
      take({room_.data(), got});
      ended_ = code == Z_STREAM_END;
    }
    return {};
  }

 private:
  const zip_entry& entry_;
  std::string room_;
  z_stream z_{};
  std::uint64_t done_ = 0;
  bool ended_ = false;
};

}  // namespace

zip_expected<void> read_zip_entry(std::istream& file, const zip_entry& entry, const taker& take) {
  uLong crc = crc32(0, nullptr, 0);
  std::uint64_t bytes = 0;
  const taker count = [&](std::string_view piece) {
    crc = crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
    bytes += piece.size();
    take(piece);
  };
  zip_expected<void> read;
  if (entry.packed) {
    unpacker unpacking(entry);
    read = read_pieces(file, entry, [&](std::string_view piece) { return unpacking.add(piece, count); });
  } else {
    read = read_pieces(file, entry, [&](std::string_view piece) {
      count(piece);
      return zip_expected<void>();
    });
  }
  if (!read) return read;
  if (bytes != entry.bytes) return altered(entry, "unpacks to less than its size");
  if (crc != entry.crc) return altered(entry, "does not have its checksum (CRC-32)");
  return {};
}

}  // namespace troupe
