#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// A value that a pickle builds, as data.
struct pickled {
  enum class kind : std::uint8_t {
    none,
    truth,   ///< `number` is 0 or 1
    whole,   ///< `number` is a std::int64_t
    real,    ///< `number` has the bits of a double
    digits,  ///< a longer whole number: `view`
    text,    ///< `view`
    bytes,   ///< `view`
    global,  ///< a class or function: pickled_values::names
    // Those that have items.
    tuple,    ///< items
    list,     ///< items
    set,      ///< items
    dict,     ///< items: key, value, key, value
    made,     ///< what a call would give: callee, arguments, state (none until BUILD), then what a dict has
    outside,  ///< what stands outside of the pickle: its id
  };
  kind what = kind::none;
  /// Bytes of a text. The place is in `number`.
  std::uint32_t size = 0;
  /// A number, a place in the pickle, or an index of nodes or names.
  std::uint64_t number = 0;
};

/// What a pickle has built. Values refer to each other by index, so that nesting and circles cost nothing.
class pickled_values {
 public:
  struct global_name {
    std::string_view module;
    std::string_view name;
    [[nodiscard]] std::string text() const { return std::string(module) + "." + std::string(name); }
  };

  explicit pickled_values(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] std::string_view text_of(const pickled& text) const { return bytes_.substr(text.number, text.size); }
  [[nodiscard]] const global_name& name_of(const pickled& global) const { return names[global.number]; }
  /// The items of a container, the parts of what was made, or the id of a value that is outside; none for others.
  [[nodiscard]] std::span<const pickled> items_of(const pickled& value) const {
    if (value.what < pickled::kind::tuple) return {};
    return nodes[value.number];
  }

  std::vector<global_name> names;
  std::deque<std::vector<pickled>> nodes;
  /// All values of kind::outside.
  std::vector<pickled> outside;
  pickled root;

 private:
  std::string_view bytes_;
};

}  // namespace troupe
