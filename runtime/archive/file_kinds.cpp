#include "runtime/archive/file_kinds.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace troupe {
namespace {

using std::string_view_literals::operator""sv;

constexpr auto tar_magic = "ustar"sv;
constexpr std::size_t tar_magic_offset = 257;

constexpr auto page_fix = "download the file itself again: a page, perhaps of a login or an error, was saved as it"sv;
constexpr std::array look_alikes{
    look_alike{"\x1f\x8b"sv, "a gzip file", "unpack it with gunzip, or with tar -xzf if it is a .tar.gz"},
    look_alike{"\x89HDF"sv, "an HDF5 file", ""},
    look_alike{"GGUF"sv, "a GGUF file", ""},
    look_alike{"\x93NUMPY"sv, "a NumPy array", ""},
    look_alike{"\x28\xb5\x2f\xfd"sv, "a zstd file", "unpack it with unzstd"},
    look_alike{"<"sv, "an HTML or XML page", page_fix},
    look_alike{"BZh"sv, "a bzip2 file", "unpack it with bunzip2"},
    look_alike{"\x7f"
               "ELF"sv,
               "a program or shared library", ""},
};

}  // namespace

bool is_zip_file(std::string_view head) {
  return head.starts_with("PK\3\4") || head.starts_with("PK\5\6");
}

bool is_pickle(std::string_view head) {
  return head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

bool is_safetensors(std::string_view head) {
  constexpr std::size_t length_bytes = 8;
  if (head.size() <= length_bytes || head[length_bytes] != '{') return false;
  return head.front() != '{' || head[length_bytes - 1] == '\0';  // a length may begin as a text does, but not end so
}

bool is_tar_file(std::string_view head) {
  return head.size() >= tar_magic_offset + tar_magic.size() &&
         head.substr(tar_magic_offset, tar_magic.size()) == tar_magic;
}

bool is_lfs_pointer(std::string_view head) {
  return head.starts_with("version https://git-lfs");
}

const look_alike* look_alike_of(std::string_view head) {
  const std::size_t text = head.find_first_not_of(" \t\r\n"sv);  // pages may begin with empty lines
  if (text != std::string_view::npos && head[text] == '<') head.remove_prefix(text);
  const auto* found = std::ranges::find_if(look_alikes, [&](const look_alike& a) { return head.starts_with(a.start); });
  return found == look_alikes.end() ? nullptr : found;
}

}  // namespace troupe
