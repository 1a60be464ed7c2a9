#include <algorithm>
#include <optional>
#include <string_view>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/archive/zip_directory.hpp"

namespace troupe {
namespace {

using std::string_view_literals::operator""sv;

constexpr auto end_signature = "PK\5\6"sv;
constexpr auto end64_signature = "PK\6\6"sv;
constexpr auto locator64_signature = "PK\6\7"sv;
constexpr std::uint64_t end_bytes = 22;
constexpr std::uint64_t comment_bytes_max = 0xffff;
constexpr std::uint64_t locator64_bytes = 20;
constexpr std::uint64_t end64_bytes = 56;

tl::unexpected<zip_fault> truncated(std::string cause) {
  return tl::make_unexpected(zip_fault{zip_fault::kind::truncated, std::move(cause)});
}

tl::unexpected<zip_fault> beyond_end() {
  return truncated("its zip central directory lies beyond the end of the file");
}

bool lies_before(const zip_directory_place& place, std::uint64_t end) {
  return place.offset <= end && place.bytes <= end - place.offset;
}

/// Where zip64 says the directory is, if the file has such a record; `end` is the place of the ordinary end record.
/// LibTorch looks at it wherever it is, also where the ordinary one suffices.
zip_expected<std::optional<zip_directory_place>> find_directory64(std::istream& file, std::uint64_t end) {
  if (end < locator64_bytes) return std::nullopt;
  const auto locator = TROUPE_TRY(read_zip_bytes(file, end - locator64_bytes, locator64_bytes));
  if (!locator.starts_with(locator64_signature)) return std::nullopt;
  const std::uint64_t at = zip_number(locator, 8, 8);
  if (at > end || end - at < end64_bytes) return truncated("its zip64 end record lies beyond the end of the file");
  const auto record = TROUPE_TRY(read_zip_bytes(file, at, end64_bytes));
  if (!record.starts_with(end64_signature)) return zip_damaged("its zip64 end record is missing");
  return zip_directory_place{zip_number(record, 48, 8), zip_number(record, 40, 8)};
}

}  // namespace

std::uint64_t zip_number(std::string_view bytes, std::uint64_t at, unsigned width) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

zip_expected<std::string> read_zip_bytes(std::istream& file, std::uint64_t offset, std::uint64_t bytes) {
  std::string text(bytes, '\0');
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (static_cast<std::uint64_t>(file.gcount()) != bytes) return truncated("the file became shorter while it was read");
  return text;
}

zip_expected<zip_directory_place> find_zip_directory(std::istream& file, std::uint64_t bytes) {
  const std::uint64_t tail_bytes = std::min(bytes, end_bytes + comment_bytes_max);
  const auto tail = TROUPE_TRY(read_zip_bytes(file, bytes - tail_bytes, tail_bytes));
  const std::size_t at = tail.rfind(end_signature);
  if (at == std::string::npos || tail_bytes - at < end_bytes) {
    return truncated("its end is missing (no zip central directory)");
  }
  const std::uint64_t end = bytes - tail_bytes + at;
  const zip_directory_place narrow{zip_number(tail, at + 16, 4), zip_number(tail, at + 12, 4)};
  const bool is_wide = narrow.offset == zip64_marker || narrow.bytes == zip64_marker;
  if (!is_wide && !lies_before(narrow, end)) return beyond_end();
  const auto wide = TROUPE_TRY(find_directory64(file, end));
  if (is_wide && !wide) return zip_damaged("its zip64 locator is missing");
  const zip_directory_place place = wide.value_or(narrow);
  if (!lies_before(place, end)) return beyond_end();
  if ((narrow.offset != zip64_marker && narrow.offset != place.offset) ||
      (narrow.bytes != zip64_marker && narrow.bytes != place.bytes)) {
    return zip_damaged("it has two zip central directories");
  }
  if (place.bytes > limits::model_directory_bytes_max)
    return zip_damaged("its zip central directory is absurdly large");
  return place;
}

}  // namespace troupe
