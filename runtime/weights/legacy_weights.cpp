#include <map>
#include <optional>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/weights/pickled_dict.hpp"
#include "runtime/weights/pickled_file.hpp"

namespace troupe {
namespace {

using kind = pickled::kind;
using std::string_view_literals::operator""sv;

/// 0x1950a86a20f9469cfc6c
constexpr auto magic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;
constexpr std::uint64_t protocol = 1001;
constexpr std::uint64_t count_bytes = 8;

/// Where the bytes of a storage lie.
struct region {
  c10::ScalarType type = c10::ScalarType::Byte;
  std::uint64_t elements = 0;
  std::uint64_t offset = 0;
  bool is_found = false;
  std::optional<c10::Storage> memory = std::nullopt;
};

class legacy_weights {
 public:
  explicit legacy_weights(weights_reading& reading) : reading_(reading) {}

  expected<state_dict> read() {
    TROUPE_TRY(read_head());
    const pickled_values objects = TROUPE_TRY(next_pickle("the pickle of its objects"));
    TROUPE_TRY(list_storages(objects));
    const pickled_values keys = TROUPE_TRY(next_pickle("the list of its storages"));
    TROUPE_TRY(find_storages(keys));
    return dict_in(reading_, objects, [&](const pickled_storage& storage) { return storage_of(storage); });
  }

 private:
  expected<pickled_values> next_pickle(const std::string& name) {
    auto built = build_pickle(reading_.bytes().substr(position_), reading_.memory_left());
    if (!built && built.error().what == pickle_fault::kind::cut_off) {
      return reading_.truncated(name + " (from byte " + std::to_string(position_) + ") " + built.error().cause);
    }
    if (!built) return pickle_error(reading_, built.error(), name);
    TROUPE_CHECK(reading_.take(built->memory_bytes), "a pickle takes what is left, at most");
    position_ += built->bytes;
    return std::move(built->values);
  }

  expected<void> read_head() {
    const pickled_values first = TROUPE_TRY(next_pickle("its first pickle"));
    if (first.root.what != kind::digits || first.text_of(first.root) != magic) {
      return fail(error_code::model_not_torchscript, reading_.where(),
                  "the file is a pickle, but none of torch.save: it gives " + kind_text(first, first.root),
                  "load it in Python and save the tensors in it with torch.save");
    }
    const pickled_values second = TROUPE_TRY(next_pickle("its second pickle"));
    if (second.root.what != kind::whole || second.root.number != protocol) {
      return reading_.damaged("it has not the protocol " + std::to_string(protocol));
    }
    const pickled_values machine = TROUPE_TRY(next_pickle("its third pickle"));
    if (machine.root.what != kind::dict) return reading_.damaged("its third pickle is no dict");
    const auto items = machine.items_of(machine.root);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const bool is_order = items[i].what == kind::text && machine.text_of(items[i]) == "little_endian";
      if (!is_order || (items[i + 1].what == kind::truth && items[i + 1].number == 1)) continue;
      return reading_.unsupported("the file was written on a big-endian machine",
                                  "load and save it with PyTorch on a little-endian one");
    }
    return {};
  }

  /// The storages that the objects name, with their types. Classes of modules may be outside, too.
  expected<void> list_storages(const pickled_values& objects) {
    constexpr std::uint64_t region_bytes = 200;
    if (!reading_.take(objects.outside.size() * region_bytes)) {
      return reading_.beyond_limits("its storages would take more memory than a file of this size may");
    }
    for (const pickled& each : objects.outside) {
      if (is_module_class(objects, each)) continue;
      const pickled_storage storage = TROUPE_TRY(storage_in(reading_, objects, each));
      const auto [at, is_new] = regions_.try_emplace(storage.key, region{storage.type, storage.elements});
      if (is_new || (at->second.type == storage.type && at->second.elements == storage.elements)) continue;
      return reading_.damaged("the storage " + std::string(storage.key) + " has two types or sizes");
    }
    return {};
  }
  [[nodiscard]] static bool is_module_class(const pickled_values& objects, const pickled& outside) {
    const pickled id = objects.items_of(outside).front();
    if (id.what != kind::tuple || objects.items_of(id).empty()) return false;
    const pickled what = objects.items_of(id).front();
    return what.what == kind::text && objects.text_of(what) == "module";
  }

  /// The storages lie behind the keys, each with its number of elements in front.
  expected<void> find_storages(const pickled_values& keys) {
    if (keys.root.what != kind::list)
      return reading_.damaged("the list of its storages is " + kind_text(keys, keys.root));
    for (const pickled& each : keys.items_of(keys.root)) {
      if (each.what != kind::text) return reading_.damaged("the key of a storage is " + kind_text(keys, each));
      const std::string key(keys.text_of(each));
      const auto found = regions_.find(keys.text_of(each));
      if (found == regions_.end() || found->second.is_found) {
        return reading_.damaged("it has a storage " + key + " that no object names, or has it twice");
      }
      TROUPE_TRY(find_storage(key, found->second));
    }
    return {};
  }
  expected<void> find_storage(const std::string& key, region& at) {
    const std::uint64_t left = reading_.bytes().size() - position_;
    if (left < count_bytes) return reading_.truncated("the storage " + key + " is missing");
    const std::uint64_t elements = zip_number(reading_.bytes(), position_, count_bytes);
    if (elements != at.elements) {
      return reading_.damaged("the storage " + key + " has " + std::to_string(elements) +
                              " elements, and its objects say " + std::to_string(at.elements));
    }
    position_ += count_bytes;
    const std::uint64_t bytes = elements * c10::elementSize(at.type);
    if (bytes > left - count_bytes) {
      return reading_.truncated("the storage " + key + " ends " + std::to_string(bytes - (left - count_bytes)) +
                                " bytes beyond its end");
    }
    at.offset = position_;
    at.is_found = true;
    position_ += bytes;
    return {};
  }

  expected<c10::Storage> storage_of(const pickled_storage& asked) {
    const std::string key(asked.key);
    const auto found = regions_.find(asked.key);
    if (found == regions_.end() || !found->second.is_found) return reading_.damaged("it lacks the storage " + key);
    region& at = found->second;
    // The names in a mapped file may have changed since they were listed.
    if (at.type != asked.type || at.elements != asked.elements)
      return reading_.damaged("the storage " + key + " changes");
    if (!at.memory) at.memory = TROUPE_TRY(reading_.storage(at.offset, asked.bytes(), asked.alignment, key));
    return *at.memory;
  }

  weights_reading& reading_;
  std::uint64_t position_ = 0;
  /// By key; the keys are views of the file.
  std::map<std::string_view, region> regions_;
};

}  // namespace

expected<state_dict> read_legacy_weights(weights_reading& reading) {
  return legacy_weights(reading).read();
}

}  // namespace troupe
