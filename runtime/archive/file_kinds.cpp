#include "runtime/archive/file_kinds.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace troupe {
namespace {

using std::string_view_literals::operator""sv;

constexpr auto tar_magic = "ustar"sv;
constexpr std::size_t tar_magic_offset = 257;

struct look_alike {
  std::string_view start;
  std::string_view name;
};
constexpr std::array look_alikes{
    look_alike{"\x1f\x8b"sv, "a gzip file"},
    look_alike{"\x89HDF"sv, "an HDF5 file"},
    look_alike{"GGUF"sv, "a GGUF file"},
    look_alike{"\x93NUMPY"sv, "a NumPy array"},
    look_alike{"\x28\xb5\x2f\xfd"sv, "a zstd file"},
    look_alike{"<"sv, "an HTML or XML page"},
    look_alike{"BZh"sv, "a bzip2 file"},
    look_alike{"\x7f"
               "ELF"sv,
               "a program or shared library"},
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

std::string_view look_alike_of(std::string_view head) {
  const auto* found = std::ranges::find_if(look_alikes, [&](const look_alike& a) { return head.starts_with(a.start); });
  return found == look_alikes.end() ? std::string_view() : found->name;
}

}  // namespace troupe
