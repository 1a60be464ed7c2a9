#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include <c10/core/CPUAllocator.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/archive/zip_content.hpp"
#include "runtime/weights/pickled_dict.hpp"
#include "runtime/weights/pickled_file.hpp"

namespace troupe {
namespace {

constexpr auto as_model_fix = "give it as --model, as it has its code with it";

class zip_weights {
 public:
  explicit zip_weights(weights_reading& reading) : reading_(reading), stream_(reading.where(), std::ios::binary) {}

  expected<void> read(const pickle_use& use) {
    TROUPE_TRY(list_entries());
    TROUPE_TRY(check_kind());
    TROUPE_TRY(check_byte_order());
    const zip_entry* const entry = find("data.pkl");
    if (entry == nullptr) {
      return fail(error_code::model_not_torchscript, reading_.where(),
                  "the file has no weights: it is a zip file, but without data.pkl", weights_save_fix);
    }
    std::string unpacked;
    const std::string_view pickle = TROUPE_TRY(content(*entry, unpacked));
    auto built = build_pickle(pickle, reading_.memory_left());
    if (!built) return pickle_error(reading_, built.error(), "data.pkl");
    TROUPE_CHECK(reading_.take(built->memory_bytes), "a pickle takes what is left, at most");
    return use(built->values, [&](const pickled_storage& storage) { return storage_of(storage); });
  }

 private:
  expected<void> list_entries() {
    auto entries = read_zip_directory(stream_, reading_.bytes().size());
    if (!entries) return reading_.of_zip(entries.error());
    entries_ = std::move(*entries);
    std::uint64_t bytes = 0;
    for (const zip_entry& each : entries_) bytes += sizeof(zip_entry) + 2 * each.name.size() + sizeof(void*);
    if (!reading_.take(bytes))
      return reading_.beyond_limits("its directory is larger than a file of this size may have");
    const std::string& first = entries_.empty() ? std::string() : entries_.front().name;
    folder_ = first.substr(0, first.find('/') + 1);
    by_name_.reserve(entries_.size());
    for (const zip_entry& each : entries_) by_name_.push_back(&each);
    std::ranges::sort(by_name_, {}, [](const zip_entry* each) { return std::string_view(each->name); });
    const auto twice = std::ranges::adjacent_find(
        by_name_, [](const zip_entry* one, const zip_entry* other) { return one->name == other->name; });
    if (twice != by_name_.end()) return reading_.damaged("it has two entries " + (*twice)->name);
    return {};
  }

  [[nodiscard]] const zip_entry* find(const std::string& path) const {
    const std::string name = folder_ + path;
    const auto at = std::ranges::lower_bound(by_name_, name, {},
                                             [](const zip_entry* each) { return std::string_view(each->name); });
    return at != by_name_.end() && (*at)->name == name ? *at : nullptr;
  }
  [[nodiscard]] bool has_below(const std::string& path) const {
    const std::string name = folder_ + path;
    const auto at = std::ranges::lower_bound(by_name_, name, {},
                                             [](const zip_entry* each) { return std::string_view(each->name); });
    return at != by_name_.end() && (*at)->name.starts_with(name);
  }

  [[nodiscard]] expected<void> check_kind() const {
    const auto refuse = [&](const std::string& what) {
      return fail(error_code::model_not_torchscript, reading_.where(), "the file is " + what + ", not weights alone",
                  as_model_fix);
    };
    if (has_below("code/") || has_below("constants.pkl")) return refuse("a TorchScript model");
    if (has_below("models/") || has_below("archive_format")) return refuse("an exported program (torch.export)");
    return {};
  }

  expected<void> check_byte_order() {
    const zip_entry* const entry = find("byteorder");
    if (entry == nullptr) return {};
    std::string unpacked;
    if (TROUPE_TRY(content(*entry, unpacked)) == "little") return {};
    return reading_.unsupported("the file was written on a big-endian machine",
                                "load and save it with PyTorch on a little-endian one");
  }

  /// With its checksum compared.
  expected<std::string_view> content(const zip_entry& entry, std::string& unpacked) {
    if (entry.packed) {
      if (!reading_.take(entry.bytes)) return too_large(entry);
      unpacked.reserve(entry.bytes);
    }
    const auto read = read_zip_entry(stream_, entry, [&](std::string_view piece) {
      if (entry.packed) unpacked += piece;
    });
    if (!read) return reading_.of_zip(read.error());
    return entry.packed ? std::string_view(unpacked) : reading_.bytes().substr(entry.offset, entry.bytes);
  }

  [[nodiscard]] tl::unexpected<error> too_large(const zip_entry& entry) const {
    return reading_.beyond_limits("its entry " + entry.name + " would unpack to " + std::to_string(entry.bytes) +
                                  " bytes, more memory than a file of this size may take");
  }

  expected<c10::Storage> storage_of(const pickled_storage& asked) {
    const std::string key(asked.key);
    const zip_entry* const entry = find("data/" + key);
    if (entry == nullptr) return reading_.damaged("it lacks the entry data/" + key);
    if (entry->bytes != asked.bytes()) {
      return reading_.damaged("its entry data/" + key + " has " + std::to_string(entry->bytes) +
                              " bytes, and its objects say " + std::to_string(asked.bytes()));
    }
    if (const auto known = storages_.find(entry); known != storages_.end()) return known->second;
    c10::Storage made = entry->packed
                            ? TROUPE_TRY(unpack(*entry))
                            : TROUPE_TRY(reading_.storage(entry->offset, entry->bytes, asked.alignment, entry->name));
    storages_.emplace(entry, made);
    return made;
  }

  expected<c10::Storage> unpack(const zip_entry& entry) {
    if (!reading_.take(entry.bytes)) return too_large(entry);
    c10::Storage made(c10::Storage::use_byte_size_t(), static_cast<std::int64_t>(entry.bytes),
                      c10::GetDefaultCPUAllocator(), false);
    char* to = static_cast<char*>(made.mutable_data());
    const auto read = read_zip_entry(stream_, entry, [&](std::string_view piece) {
      std::memcpy(to, piece.data(), piece.size());
      to += piece.size();
    });
    if (!read) return reading_.of_zip(read.error());
    return made;
  }

  weights_reading& reading_;
  std::ifstream stream_;
  std::string folder_;
  std::vector<zip_entry> entries_;
  std::vector<const zip_entry*> by_name_;
  /// One for each entry, so that tensors that share memory go on sharing it.
  std::map<const zip_entry*, c10::Storage> storages_;
};

}  // namespace

tl::unexpected<error> pickle_error(const weights_reading& reading, const pickle_fault& fault, const std::string& name) {
  switch (fault.what) {
    case pickle_fault::kind::cut_off:
      return reading.damaged(name + " " + fault.cause);
    case pickle_fault::kind::refused:
      return fail(error_code::model_has_effects, reading.where(),
                  "the file is no file of weights: " + name + ", " + fault.cause,
                  "do not load it in Python either; get the weights from a source that you trust");
    case pickle_fault::kind::too_large:
      return reading.beyond_limits(name + ", " + fault.cause);
    case pickle_fault::kind::damaged:
      break;
  }
  return reading.damaged(name + ", " + fault.cause);
}

expected<void> read_zip_pickle(weights_reading& reading, const pickle_use& use) {
  return zip_weights(reading).read(use);
}

expected<state_dict> read_zip_weights(weights_reading& reading) {
  state_dict dict;
  TROUPE_TRY(read_zip_pickle(reading, [&](const pickled_values& values, const storage_finder& find) {
    return dict_in(reading, values, find).map([&](state_dict&& found) { dict = std::move(found); });
  }));
  return dict;
}

}  // namespace troupe
