#include "runtime/archive/zip_directory.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "messages/try.hpp"

namespace troupe {
namespace {

using std::string_view_literals::operator""sv;

constexpr auto entry_signature = "PK\1\2"sv;
constexpr auto header_signature = "PK\3\4"sv;
constexpr std::uint64_t entry_bytes = 46;
constexpr std::uint64_t header_bytes = 30;
constexpr std::uint64_t zip64_field = 1;
constexpr std::uint64_t encrypted_flag = 1;
constexpr std::uint64_t method_stored = 0;
constexpr std::uint64_t method_deflate = 8;

/// The content of the zip64 field among the extra fields; empty if there is none.
std::string_view zip64_of(std::string_view extra) {
  while (extra.size() >= 4) {
    const std::uint64_t bytes = zip_number(extra, 2, 2);
    if (bytes > extra.size() - 4) return {};
    if (zip_number(extra, 0, 2) == zip64_field) return extra.substr(4, bytes);
    extra.remove_prefix(4 + bytes);
  }
  return {};
}

/// Sizes and place that do not fit 32 bits stand in the zip64 field, in this order, those alone. False: not there.
bool widen(zip_entry& entry, std::string_view zip64) {
  for (std::uint64_t* each : {&entry.bytes, &entry.packed_bytes, &entry.offset}) {
    if (*each != zip64_marker) continue;
    if (zip64.size() < 8) return false;
    *each = zip_number(zip64, 0, 8);
    zip64.remove_prefix(8);
  }
  return true;
}

/// The entry at the beginning of `all`, and how many bytes it takes.
zip_expected<std::pair<zip_entry, std::uint64_t>> parse_entry(std::string_view all, std::uint64_t place) {
  if (all.size() < entry_bytes || all.substr(0, 4) != entry_signature) {
    return zip_damaged("its zip central directory is damaged at byte " + std::to_string(place));
  }
  const std::uint64_t name_bytes = zip_number(all, 28, 2);
  const std::uint64_t extra_bytes = zip_number(all, 30, 2);
  const std::uint64_t all_bytes = entry_bytes + name_bytes + extra_bytes + zip_number(all, 32, 2);
  if (all.size() < all_bytes) return zip_damaged("an entry of its zip central directory is cut off");
  const std::uint64_t method = zip_number(all, 10, 2);
  zip_entry entry{.name = std::string(all.substr(entry_bytes, name_bytes)),
                  .packed = method == method_deflate,
                  .crc = static_cast<std::uint32_t>(zip_number(all, 16, 4)),
                  .packed_bytes = zip_number(all, 20, 4),
                  .bytes = zip_number(all, 24, 4),
                  .offset = zip_number(all, 42, 4)};
  if (method != method_stored && method != method_deflate) {
    return zip_damaged("its zip entry " + entry.name + " is packed with method " + std::to_string(method));
  }
  if ((zip_number(all, 8, 2) & encrypted_flag) != 0)
    return zip_damaged("its zip entry " + entry.name + " is encrypted");
  if (!widen(entry, zip64_of(all.substr(entry_bytes + name_bytes, extra_bytes)))) {
    return zip_damaged("the zip64 sizes of its zip entry " + entry.name + " are missing");
  }
  if (!entry.packed && entry.packed_bytes != entry.bytes) {
    return zip_damaged("its zip entry " + entry.name + " has two sizes");
  }
  return std::pair{std::move(entry), all_bytes};
}

zip_expected<std::vector<zip_entry>> parse_entries(std::string_view all, std::uint64_t place) {
  std::vector<zip_entry> entries;
  for (std::uint64_t at = 0; at < all.size();) {
    auto parsed = TROUPE_TRY(parse_entry(all.substr(at), place + at));
    entries.push_back(std::move(parsed.first));
    at += parsed.second;
  }
  return entries;
}

/// From headers to contents: behind the name and the extra fields as the header itself has them, which is where
/// LibTorch looks. The entry must end in front of `end`.
zip_expected<void> find_content(std::istream& file, zip_entry& entry, std::uint64_t end) {
  const auto outside = [&] { return zip_damaged("its zip entry " + entry.name + " lies outside of the file"); };
  if (entry.offset > end || end - entry.offset < header_bytes) return outside();
  const auto header = TROUPE_TRY(read_zip_bytes(file, entry.offset, header_bytes));
  if (!header.starts_with(header_signature)) return zip_damaged("its zip entry " + entry.name + " has no header");
  entry.offset += header_bytes + zip_number(header, 26, 2) + zip_number(header, 28, 2);
  if (entry.offset > end || end - entry.offset < entry.packed_bytes) return outside();
  return {};
}

}  // namespace

zip_expected<std::vector<zip_entry>> read_zip_directory(std::istream& file, std::uint64_t bytes) {
  const auto place = TROUPE_TRY(find_zip_directory(file, bytes));
  const auto directory = TROUPE_TRY(read_zip_bytes(file, place.offset, place.bytes));
  auto entries = parse_entries(directory, place.offset);
  if (!entries) return entries;
  std::vector<zip_entry*> by_place;
  for (zip_entry& each : *entries) by_place.push_back(&each);
  std::ranges::sort(by_place, {}, &zip_entry::offset);
  std::uint64_t free_from = 0;
  for (zip_entry* each : by_place) {
    const std::uint64_t header = each->offset;
    TROUPE_TRY(find_content(file, *each, place.offset));
    if (header < free_from) {
      return tl::make_unexpected(
          zip_fault{zip_fault::kind::altered, "its zip entry " + each->name + " lies on top of another one"});
    }
    free_from = each->offset + each->packed_bytes;
  }
  return entries;
}

}  // namespace troupe
