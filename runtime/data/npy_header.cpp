#include "runtime/data/npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/npy_dictionary.hpp"
#include "runtime/data/text_file.hpp"

namespace troupe {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::string_view zip_magic = "PK\x03\x04";
constexpr std::size_t preamble_bytes = 8;
constexpr const char* save_again = "save the array again with numpy.save";

bool is_byte(char wanted, std::uint8_t found) {
  return static_cast<std::uint8_t>(wanted) == found;
}

struct text_extent {
  std::size_t begin;
  std::size_t length;
};

tl::unexpected<error> too_short(const std::string& path, std::uint64_t wanted, std::uint64_t found) {
  return fail(error_code::data_truncated, path + ", byte " + std::to_string(found),
              "the header ends early: expected " + std::to_string(wanted) + " bytes, found " + std::to_string(found),
              save_again);
}

std::size_t little_endian(std::span<const std::uint8_t> bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

expected<text_extent> find_text(const std::string& path, std::span<const std::uint8_t> bytes) {
  if (auto text = text_in_place_of("NPY", path, bytes)) return tl::make_unexpected(std::move(*text));
  if (bytes.size() < preamble_bytes) return too_short(path, preamble_bytes, bytes.size());
  if (std::equal(zip_magic.begin(), zip_magic.end(), bytes.begin(), is_byte)) {
    return fail(error_code::data_bad_format, path + ", byte 0", "is an archive of arrays (.npz), and no .npy file",
                "write npz:FILE, where one of its arrays is called labels, or npz:FILE,label=NAME");
  }
  if (!std::equal(magic.begin(), magic.end(), bytes.begin(), is_byte)) {
    return fail(error_code::data_bad_format, path + ", byte 0", "is no .npy file: it does not begin with \\x93NUMPY",
                save_again);
  }
  const std::uint8_t major = bytes[6];
  const std::uint8_t minor = bytes[7];
  if (major < 1 || major > 3 || minor != 0) {
    return fail(error_code::data_bad_format, path + ", byte 6",
                "unknown version of the NPY format: expected 1.0, 2.0 or 3.0, found " + std::to_string(major) + "." +
                    std::to_string(minor),
                save_again);
  }
  const std::size_t width = major == 1 ? 2 : 4;
  const std::size_t begin = preamble_bytes + width;
  if (bytes.size() < begin) return too_short(path, begin, bytes.size());
  const std::size_t length = little_endian(bytes.subspan(preamble_bytes, width));
  if (length > limits::npy_header_bytes_max) {
    return fail(error_code::data_bad_format, path + ", byte 8",
                "a header of " + std::to_string(length) + " bytes, more than the limit of " +
                    std::to_string(limits::npy_header_bytes_max),
                save_again);
  }
  if (bytes.size() < begin + length) return too_short(path, begin + length, bytes.size());
  return text_extent{begin, length};
}

}  // namespace

expected<npy_header> parse_npy_header(const std::string& path, std::span<const std::uint8_t> bytes) {
  const text_extent extent = TROUPE_TRY(find_text(path, bytes));
  std::string text;
  for (const std::uint8_t byte : bytes.subspan(extent.begin, extent.length)) text += static_cast<char>(byte);
  npy_dictionary_parser parser(text);
  const std::optional<npy_dictionary> dictionary = parser.parse();
  if (!dictionary) {
    return fail(error_code::data_bad_format, path + ", byte " + std::to_string(extent.begin + parser.position()),
                "malformed header: expected " + parser.expected_here(), save_again);
  }
  return npy_header{dictionary->descr, dictionary->fortran_order, dictionary->shape, extent.begin + extent.length};
}

}  // namespace troupe
