#include "runtime/data/npz_archive.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <set>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/archive/zip_content.hpp"
#include "runtime/data/gzip_reader.hpp"
#include "runtime/data/region_stream.hpp"
#include "runtime/data/text_file.hpp"

namespace troupe {

namespace {

constexpr std::string_view array_suffix = ".npy";
constexpr const char* store_plain = "save it with numpy.savez, whose arrays are read in parts";

tl::unexpected<error> archive_error(const zip_fault& fault, const std::string& path, const region_stream& stream) {
  if (stream.failure()) return tl::make_unexpected(*stream.failure());
  const bool is_short = fault.what == zip_fault::kind::truncated;
  return fail(is_short ? error_code::data_truncated : error_code::data_bad_format, path,
              std::string("the archive is ") + (is_short ? "cut short: " : "damaged: ") + fault.cause, fetch_again);
}

/// A file that begins as no zip file does.
expected<void> check_begin(const std::string& path, const byte_region& region) {
  std::array<char, 6> begin{};
  const std::size_t bytes = std::min<std::uint64_t>(begin.size(), region.size());
  TROUPE_TRY(region.read(0, {reinterpret_cast<std::uint8_t*>(begin.data()), bytes}));
  const std::string_view found(begin.data(), bytes);
  if (found.starts_with("PK\3\4") || found.starts_with("PK\5\6")) return {};
  if (auto text = text_in_place_of("NPZ", path, region)) return tl::make_unexpected(std::move(*text));
  if (found.starts_with("\x93NUMPY")) {
    return fail(error_code::data_bad_format, path + ", byte 0", "is one array (.npy), and no archive of arrays",
                "write npy:INPUTS,LABELS");
  }
  return fail(error_code::data_bad_format, path + ", byte 0", "is no .npz file: it does not begin as a zip file does",
              "save the arrays again with numpy.savez");
}

}  // namespace

expected<npz_archive> npz_archive::open(const std::string& path) {
  byte_region_ptr region = TROUPE_TRY(open_bytes(path));
  TROUPE_TRY(check_begin(path, *region));
  region_stream stream(region);
  auto entries = read_zip_directory(stream, region->size());
  if (!entries) return archive_error(entries.error(), path, stream);
  std::set<std::string> names;
  std::set<std::string> others;
  for (zip_entry& each : *entries) {
    if (each.name.ends_with(array_suffix)) {
      each.name.resize(each.name.size() - array_suffix.size());
    } else {
      others.insert(each.name);
    }
    if (names.insert(each.name).second) continue;
    return fail(error_code::data_bad_format, path, "it has two arrays \"" + each.name + "\"",
                "give each array a name of its own, and save them again with numpy.savez");
  }
  return npz_archive(path, std::move(region), std::move(*entries), std::move(others));
}

std::vector<std::string> npz_archive::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const zip_entry& each : entries_) names.push_back(each.name);
  return names;
}

expected<npy_array> npz_archive::read(const std::string& name) {
  const auto entry = std::ranges::find(entries_, name, &zip_entry::name);
  TROUPE_CHECK(entry != entries_.end(), "only arrays of the archive are read");
  const std::string place = path_ + ", array " + name;
  if (!entry->packed) return npy_array::open(place, part_of(region_, entry->offset, entry->bytes));
  return npy_array::open(place, TROUPE_TRY(unpack(*entry, place)));
}

expected<byte_region_ptr> npz_archive::unpack(const zip_entry& entry, const std::string& place) {
  if (entry.bytes > gzip_reader::unpacked_bytes_max(entry.packed_bytes)) {
    return fail(error_code::data_bad_format, place,
                "claims to unpack to " + std::to_string(entry.bytes) + " bytes, more than " +
                    std::to_string(entry.packed_bytes) + " packed bytes can hold",
                fetch_again);
  }
  if (entry.bytes > npz_unpacked_bytes_max - unpacked_bytes_) {
    return fail(
        error_code::data_unreadable, place,
        "the compressed arrays unpack to more than the limit of " + std::to_string(npz_unpacked_bytes_max) + " bytes",
        store_plain);
  }
  std::unique_ptr<std::uint8_t[]> bytes(new (std::nothrow) std::uint8_t[entry.bytes]);
  if (bytes == nullptr) {
    return fail(error_code::data_unreadable, place, "no memory for " + std::to_string(entry.bytes) + " unpacked bytes",
                store_plain);
  }
  unpacked_bytes_ += entry.bytes;
  region_stream stream(region_);
  std::size_t done = 0;
  const auto read = read_zip_entry(stream, entry, [&](std::string_view piece) {
    std::memcpy(bytes.get() + done, piece.data(), piece.size());
    done += piece.size();
  });
  if (!read) return archive_error(read.error(), place, stream);
  return own_bytes(std::move(bytes), entry.bytes);
}

}  // namespace troupe
