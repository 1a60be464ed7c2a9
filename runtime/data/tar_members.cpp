#include "runtime/data/tar_members.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include <archive.h>
#include <archive_entry.h>

#include "messages/try.hpp"
#include "runtime/data/text_file.hpp"

namespace troupe {

namespace {

using namespace std::string_view_literals;

constexpr const char* pack_tar_again = "fetch the archive again, or pack it anew as a plain tar file";

/// What libarchive reads from.
struct archive_source {
  byte_region_ptr region;
  std::uint64_t position = 0;
  std::vector<std::uint8_t> block = std::vector<std::uint8_t>(64u << 10);
  std::optional<error> failure = {};
};

la_ssize_t on_tar_read(archive* /*reader*/, void* data, const void** block) {
  auto& source = *static_cast<archive_source*>(data);
  const std::uint64_t bytes = std::min<std::uint64_t>(source.block.size(), source.region->size() - source.position);
  const std::span<std::uint8_t> room(source.block.data(), bytes);
  if (auto got = source.region->read(source.position, room); !got) {
    source.failure = got.error();
    return ARCHIVE_FATAL;
  }
  source.position += bytes;
  *block = source.block.data();
  return static_cast<la_ssize_t>(bytes);
}

la_int64_t on_tar_skip(archive* /*reader*/, void* data, la_int64_t bytes) {
  auto& source = *static_cast<archive_source*>(data);
  const std::uint64_t left = source.region->size() - source.position;
  const std::uint64_t skipped = std::min(left, static_cast<std::uint64_t>(std::max<la_int64_t>(bytes, 0)));
  source.position += skipped;
  return static_cast<la_int64_t>(skipped);
}

struct archive_closer {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using archive_ptr = std::unique_ptr<archive, archive_closer>;

/// "gzip"; empty if it is not packed.
std::string_view packing_of(std::span<const std::uint8_t> first) {
  struct known_packing {
    std::string_view magic;
    std::string_view name;
  };
  constexpr std::array known{known_packing{"\x1f\x8b"sv, "gzip"}, known_packing{"\x28\xb5\x2f\xfd"sv, "zstd"},
                             known_packing{"\xfd"
                                           "7zXZ\0"sv,
                                           "xz"},
                             known_packing{"BZh"sv, "bzip2"}, known_packing{"\x04\x22\x4d\x18"sv, "lz4"}};
  for (const known_packing& each : known) {
    const auto is_same = [](std::uint8_t byte, char c) { return byte == static_cast<std::uint8_t>(c); };
    if (first.size() >= each.magic.size() && std::ranges::equal(first.first(each.magic.size()), each.magic, is_same)) {
      return each.name;
    }
  }
  return {};
}

expected<void> check_beginning(const byte_region& region, const std::string& path) {
  std::array<std::uint8_t, text_bytes_shown> room{};
  const std::span<std::uint8_t> first(room.data(), std::min<std::uint64_t>(room.size(), region.size()));
  TROUPE_TRY(region.read(0, first));
  const std::string_view packing = packing_of(first);
  if (packing.empty()) return {};
  return fail(error_code::data_bad_format, path,
              "is packed with " + std::string(packing) + ", and samples are read in any order",
              "unpack it to a plain tar file, as with " + std::string(packing) + " -d");
}

std::string odd_kind(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr) return "a hard link";
  const auto type = archive_entry_filetype(entry);
  if (type == AE_IFLNK) return "a symbolic link";
  if (type != AE_IFREG) return "no regular file";
  return archive_entry_sparse_count(entry) > 0 ? "a sparse file" : "";
}

tl::unexpected<error> unreadable_tar(const archive_source& source, archive* reader, const std::string& path) {
  if (source.failure) return tl::make_unexpected(*source.failure);
  const char* text = archive_error_string(reader);
  const std::string cause = text != nullptr ? text : "unknown";
  const bool is_short = source.position == source.region->size() && cause.find("runcated") != std::string::npos;
  return fail(is_short ? error_code::data_truncated : error_code::data_bad_format, path,
              "is no tar archive that can be read: " + cause, pack_tar_again);
}

expected<tar_member> member_of(archive* reader, archive_entry* entry, const archive_source& source,
                               const std::string& path) {
  const char* name = archive_entry_pathname(entry);
  if (name == nullptr) name = archive_entry_pathname_utf8(entry);
  const auto offset = static_cast<std::uint64_t>(archive_filter_bytes(reader, 0));
  const std::string place = path + ", byte " + std::to_string(offset);
  if (name == nullptr) return fail(error_code::data_bad_format, place, "a member has no name", pack_tar_again);
  const la_int64_t size = archive_entry_size(entry);
  tar_member member{name, offset, static_cast<std::uint64_t>(std::max<la_int64_t>(size, 0)), odd_kind(entry)};
  const std::uint64_t end = source.region->size();
  if (!member.odd.empty() || (offset <= end && member.size <= end - offset)) return member;
  return fail(error_code::data_truncated, place,
              "the member \"" + member.name + "\" says that it has " + std::to_string(member.size) + " bytes, and " +
                  std::to_string(end - std::min(offset, end)) + " are there",
              pack_tar_again);
}

/// A field of a header, up to its first NUL.
std::string_view header_field(std::string_view header, std::size_t begin, std::size_t bytes) {
  const std::string_view field = header.substr(begin, bytes);
  return field.substr(0, field.find('\0'));
}

}  // namespace

std::string name_before(const byte_region& archive, std::uint64_t offset) {
  constexpr std::size_t header_bytes = 512;
  std::array<std::uint8_t, header_bytes> room{};
  if (offset < header_bytes || !archive.read(offset - header_bytes, room)) return {};
  const std::string_view header(reinterpret_cast<const char*>(room.data()), room.size());
  const bool has_prefix = header.substr(257, 6) == "ustar\0"sv;  // GNU's have other fields there
  const std::string_view prefix = has_prefix ? header_field(header, 345, 155) : std::string_view();
  return std::string(prefix) + (prefix.empty() ? "" : "/") + std::string(header_field(header, 0, 100));
}

expected<void> for_each_member(const byte_region_ptr& archive, const std::string& path,
                               const std::function<expected<void>(const tar_member&)>& take) {
  TROUPE_TRY(check_beginning(*archive, path));
  archive_source source{archive};
  const archive_ptr reader(archive_read_new());
  if (!reader) return fail(error_code::data_unreadable, path, "no memory to read it", "end other programs");
  archive_read_support_format_tar(reader.get());
  archive_read_set_callback_data(reader.get(), &source);
  archive_read_set_read_callback(reader.get(), &on_tar_read);
  archive_read_set_skip_callback(reader.get(), &on_tar_skip);
  if (archive_read_open1(reader.get()) != ARCHIVE_OK) return unreadable_tar(source, reader.get(), path);
  while (true) {
    archive_entry* entry = nullptr;
    const int outcome = archive_read_next_header(reader.get(), &entry);
    if (outcome == ARCHIVE_EOF) return {};
    if (outcome != ARCHIVE_OK && outcome != ARCHIVE_WARN) return unreadable_tar(source, reader.get(), path);
    if (archive_entry_filetype(entry) == AE_IFDIR) continue;
    const tar_member member = TROUPE_TRY(member_of(reader.get(), entry, source, path));
    TROUPE_TRY(take(member));
  }
}

}  // namespace troupe
