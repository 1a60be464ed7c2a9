#include "runtime/data/idx_file.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <new>
#include <optional>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/data/gzip_reader.hpp"
#include "runtime/data/text_file.hpp"

namespace troupe {

namespace {

constexpr std::uint8_t unsigned_byte = 8;

std::string hex(std::uint32_t value) {
  std::array<char, 11> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", value);
  return text.data();
}

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::uint64_t header_bytes(std::uint8_t dimensions) {
  return 4 + 4 * std::uint64_t{dimensions};
}

tl::unexpected<error> too_short(const std::string& path, std::uint64_t wanted, std::uint64_t found,
                                const char* of_what) {
  return fail(error_code::data_truncated, path + ", byte " + std::to_string(found),
              std::string("the ") + of_what + " ends early: expected " + std::to_string(wanted) + " bytes, found " +
                  std::to_string(found),
              fetch_again);
}

tl::unexpected<error> too_long(const std::string& path, std::uint64_t wanted, const std::string& found) {
  return fail(
      error_code::data_bad_format, path + ", byte " + std::to_string(wanted),
      "data follow the last element: expected " + std::to_string(wanted) + " bytes as the header says, found " + found,
      fetch_again);
}

expected<std::vector<std::uint32_t>> parse_header(const std::string& path, std::span<const std::uint8_t> header,
                                                  std::uint8_t dimensions) {
  const std::uint32_t magic = big_endian(header.data());
  const std::uint32_t wanted = std::uint32_t{unsigned_byte} << 8 | dimensions;
  if (magic != wanted) {
    return fail(error_code::data_bad_format, path + ", byte 0",
                "wrong IDX magic number: expected " + hex(wanted) + " (unsigned bytes, " + std::to_string(dimensions) +
                    (dimensions == 1 ? " dimension)" : " dimensions)") + ", found " + hex(magic),
                "check that images and labels are not swapped, and fetch the file again");
  }
  std::vector<std::uint32_t> sizes;
  for (std::uint64_t at = 4; at < header.size(); at += 4) {
    sizes.push_back(big_endian(header.data() + at));
    if (sizes.back() != 0) continue;
    return fail(error_code::data_empty, path + ", byte " + std::to_string(at),
                "dimension " + std::to_string(sizes.size() - 1) + " has size 0", fetch_again);
  }
  return sizes;
}

/// Nothing if the product does not fit: the header of a damaged file can say anything.
std::optional<std::uint64_t> payload_bytes(const std::vector<std::uint32_t>& sizes) {
  std::uint64_t bytes = 1;
  for (const std::uint32_t size : sizes) {
    if (__builtin_mul_overflow(bytes, std::uint64_t{size}, &bytes)) return std::nullopt;
  }
  return bytes < std::uint64_t{1} << 62 ? std::optional(bytes) : std::nullopt;
}

expected<idx_file> open_plain(const std::string& path, const byte_region_ptr& region, std::uint8_t dimensions) {
  if (auto text = text_in_place_of(path.ends_with(".gz") ? "gzip or IDX" : "IDX", path, *region)) {
    return tl::make_unexpected(std::move(*text));
  }
  const std::uint64_t header_size = header_bytes(dimensions);
  if (region->size() < header_size) return too_short(path, header_size, region->size(), "header");
  std::vector<std::uint8_t> header(header_size);
  TROUPE_TRY(region->read(0, header));
  auto sizes = TROUPE_TRY(parse_header(path, header, dimensions));
  const std::optional<std::uint64_t> payload = payload_bytes(sizes);
  const std::uint64_t wanted = header_size + payload.value_or(UINT64_MAX - header_size);
  if (region->size() < wanted) return too_short(path, wanted, region->size(), "file");
  if (region->size() > wanted) return too_long(path, wanted, std::to_string(region->size()));
  return idx_file{path, std::move(sizes), region, header_size};
}

expected<byte_region_ptr> unpack_payload(const std::string& path, gzip_reader& reader, std::uint64_t payload,
                                         std::uint64_t packed_size) {
  const std::uint64_t header_size = reader.position();
  const std::uint64_t wanted = header_size + payload;
  if (payload > gzip_reader::unpacked_bytes_max(packed_size)) {
    return fail(error_code::data_truncated, path,
                "the header promises " + std::to_string(wanted) + " bytes, more than " + std::to_string(packed_size) +
                    " packed bytes can hold",
                fetch_again);
  }
  if (payload > limits::gzip_unpacked_bytes_max) {
    return fail(error_code::data_unreadable, path,
                "unpacks to " + std::to_string(wanted) + " bytes, more than the limit of " +
                    std::to_string(limits::gzip_unpacked_bytes_max),
                "unpack it with gunzip: plain files are read in blocks");
  }
  std::unique_ptr<std::uint8_t[]> bytes(new (std::nothrow) std::uint8_t[payload]);
  if (bytes == nullptr) {
    return fail(error_code::data_unreadable, path, "no memory for " + std::to_string(payload) + " unpacked bytes",
                "unpack it with gunzip: plain files are read in blocks");
  }
  const std::size_t got = TROUPE_TRY(reader.read({bytes.get(), payload}));
  if (got < payload) return too_short(path, wanted, reader.position(), "unpacked file");
  std::uint8_t extra = 0;
  const std::size_t more = TROUPE_TRY(reader.read({&extra, 1}));
  if (more != 0) return too_long(path, wanted, "more");
  return own_bytes(std::move(bytes), payload);
}

expected<idx_file> open_packed(const std::string& path, const byte_region_ptr& packed, std::uint8_t dimensions) {
  gzip_reader reader(path, packed);
  std::vector<std::uint8_t> header(header_bytes(dimensions));
  const std::size_t got = TROUPE_TRY(reader.read(header));
  if (got < header.size()) return too_short(path, header.size(), got, "unpacked header");
  auto sizes = TROUPE_TRY(parse_header(path, header, dimensions));
  const std::uint64_t payload = payload_bytes(sizes).value_or(std::uint64_t{1} << 62);
  byte_region_ptr region = TROUPE_TRY(unpack_payload(path, reader, payload, packed->size()));
  return idx_file{path, std::move(sizes), std::move(region), 0};
}

}  // namespace

expected<idx_file> open_idx(const std::string& path, std::uint8_t dimensions) {
  const byte_region_ptr region = TROUPE_TRY(open_bytes(path));
  const auto is_packed = TROUPE_TRY(gzip_reader::looks_packed(*region, 0));
  if (is_packed) return open_packed(path, region, dimensions);
  return open_plain(path, region, dimensions);
}

}  // namespace troupe
