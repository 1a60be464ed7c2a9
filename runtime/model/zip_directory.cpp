#include <algorithm>
#include <string_view>

#include <troupe/messages/limits.hpp>
#include <troupe/runtime/model/zip_directory.hpp>

namespace troupe {
namespace {

using std::string_view_literals::operator""sv;

constexpr auto end_signature = "PK\5\6"sv;
constexpr auto end64_signature = "PK\6\6"sv;
constexpr auto locator64_signature = "PK\6\7"sv;
constexpr auto entry_signature = "PK\1\2"sv;
constexpr std::uint64_t end_bytes = 22;
constexpr std::uint64_t comment_bytes_max = 0xffff;
constexpr std::uint64_t locator64_bytes = 20;
constexpr std::uint64_t end64_bytes = 56;
constexpr std::uint64_t entry_bytes = 46;
constexpr std::uint64_t in_zip64 = 0xffffffff;

struct directory_place {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

tl::unexpected<zip_fault> truncated(std::string cause) {
  return tl::make_unexpected(zip_fault{true, std::move(cause)});
}

tl::unexpected<zip_fault> damaged(std::string cause) {
  return tl::make_unexpected(zip_fault{false, std::move(cause)});
}

/// Little-endian number of `width` bytes; the caller has checked that it lies inside.
std::uint64_t number_at(std::string_view bytes, std::uint64_t at, unsigned width) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

tl::expected<std::string, zip_fault> read_at(std::istream& file, std::uint64_t offset, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (static_cast<std::uint64_t>(file.gcount()) != bytes) return truncated("the file became shorter while it was read");
  return text;
}

/// Where zip64 says the directory is; `end` is the place of the ordinary end record.
tl::expected<directory_place, zip_fault> find_directory64(std::istream& file, std::uint64_t end) {
  if (end < locator64_bytes) return damaged("its zip64 locator is missing");
  const auto locator = read_at(file, end - locator64_bytes, locator64_bytes);
  if (!locator) return tl::make_unexpected(locator.error());
  if (!locator->starts_with(locator64_signature)) return damaged("its zip64 locator is missing");
  const std::uint64_t at = number_at(*locator, 8, 8);
  if (at > end || end - at < end64_bytes) return truncated("its zip64 end record lies beyond the end of the file");
  const auto record = read_at(file, at, end64_bytes);
  if (!record) return tl::make_unexpected(record.error());
  if (!record->starts_with(end64_signature)) return damaged("its zip64 end record is missing");
  return directory_place{number_at(*record, 48, 8), number_at(*record, 40, 8)};
}

tl::expected<directory_place, zip_fault> find_directory(std::istream& file, std::uint64_t bytes) {
  const std::uint64_t tail_bytes = std::min(bytes, end_bytes + comment_bytes_max);
  const auto tail = read_at(file, bytes - tail_bytes, tail_bytes);
  if (!tail) return tl::make_unexpected(tail.error());
  const std::size_t at = tail->rfind(end_signature);
  if (at == std::string::npos || tail_bytes - at < end_bytes) {
    return truncated("its end is missing (no zip central directory)");
  }
  const std::uint64_t end = bytes - tail_bytes + at;
  directory_place place{number_at(*tail, at + 16, 4), number_at(*tail, at + 12, 4)};
  if (place.offset == in_zip64 || place.bytes == in_zip64) {
    const auto place64 = find_directory64(file, end);
    if (!place64) return place64;
    place = *place64;
  }
  if (place.offset > end || place.bytes > end - place.offset) {
    return truncated("its zip central directory lies beyond the end of the file");
  }
  if (place.bytes > limits::model_directory_bytes_max) return damaged("its zip central directory is absurdly large");
  return place;
}

}  // namespace

tl::expected<std::vector<std::string>, zip_fault> read_zip_names(std::istream& file, std::uint64_t bytes) {
  const auto place = find_directory(file, bytes);
  if (!place) return tl::make_unexpected(place.error());
  const auto directory = read_at(file, place->offset, place->bytes);
  if (!directory) return tl::make_unexpected(directory.error());
  const std::string_view all = *directory;
  std::vector<std::string> names;
  for (std::uint64_t at = 0; at < all.size();) {
    if (all.size() - at < entry_bytes || all.substr(at, 4) != entry_signature) {
      return damaged("its zip central directory is damaged at byte " + std::to_string(place->offset + at));
    }
    const std::uint64_t content = number_at(all, at + 20, 4);
    const std::uint64_t header = number_at(all, at + 42, 4);
    const std::uint64_t name_bytes = number_at(all, at + 28, 2);
    const std::uint64_t more = name_bytes + number_at(all, at + 30, 2) + number_at(all, at + 32, 2);
    if (all.size() - at - entry_bytes < more) return damaged("an entry of its zip central directory is cut off");
    names.emplace_back(all.substr(at + entry_bytes, name_bytes));
    if (content != in_zip64 && header != in_zip64 && header + content > place->offset) {
      return damaged("its zip entry " + names.back() + " lies outside of the file");
    }
    at += entry_bytes + more;
  }
  return names;
}

}  // namespace troupe
