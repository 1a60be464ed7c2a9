#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <troupe/data_set.hpp>
#include <troupe/error.hpp>

namespace troupe {

/// What the value of an option of a data set is. How it is written depends on the place: lists have + between their
/// items in KIND:PATH,NAME=VALUE, commas in a flag, and are arrays in TOML.
enum class data_value : std::uint8_t {
  text,     ///< any text that is not empty
  choice,   ///< one of data_option::choices
  count,    ///< a whole number in [minimum, maximum]
  numbers,  ///< real numbers in [minimum, maximum], `length` of them where that is not 0
  names,    ///< texts, each once; an option that is given again adds to them
  toggle,   ///< asked for or not
};

/// One option of a kind of data: one row of its table. From the row follow the option in KIND:PATH,NAME=VALUE, its key
/// in the table [data] of TOML, its flag, and their checks and help.
///
/// A kind declares its options as a constexpr array beside its open function and names the array in its row of
/// data_kinds (data_kinds.hpp). Options that several kinds have are one constant that their arrays share, since a flag
/// has one meaning: two options of one name have the same `form`.
///
///   inline constexpr data_option crop_option{.name = "crop", .form = data_value::count, .value_name = "PIXELS",
///       .example = "224", .help = "cut a square of this size from the middle", .minimum = 1, .maximum = 65535};
///   inline constexpr std::array image_options = {resize_option, crop_option};
///
///   expected<data_set_ptr> open_imagefolder(const data_request& request) {
///     const std::int64_t crop = request.options.count("crop").value_or(224);
struct data_option {
  /// Lower case, with hyphens between words: "max-length". TOML has underscores in their place.
  std::string_view name;
  data_value form = data_value::text;
  /// As in --help: "PIXELS". Empty for a toggle.
  std::string_view value_name = {};
  /// A good value as a flag has it: "0.485,0.456,0.406". Empty for a toggle.
  std::string_view example = {};
  /// One line, which begins in lower case and has no full stop.
  std::string_view help = {};
  /// The range of a count, and of each of the numbers.
  double minimum = 0;
  double maximum = 0;
  /// How many numbers there must be; 0: one or more.
  std::size_t length = 0;
  /// The values of a choice.
  std::span<const std::string_view> choices = {};
  /// Values of this choice also stand alone, without NAME= in front: npz:FILE,float32.
  bool is_bare = false;
};

/// The value of an option, by its form: text and choice, count, numbers, names, toggle.
using data_option_value = std::variant<std::string, std::int64_t, std::vector<double>, std::vector<std::string>, bool>;

/// The options that a user gave, checked. Asked for by their names in the table; an option that was not given has no
/// value, or an empty one.
class data_options {
 public:
  [[nodiscard]] bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  /// The value of a text or choice.
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const { return find<std::string>(name); }
  [[nodiscard]] std::optional<std::int64_t> count(std::string_view name) const { return find<std::int64_t>(name); }
  [[nodiscard]] std::vector<double> numbers(std::string_view name) const {
    return find<std::vector<double>>(name).value_or(std::vector<double>());
  }
  [[nodiscard]] std::vector<std::string> names(std::string_view name) const {
    return find<std::vector<std::string>>(name).value_or(std::vector<std::string>());
  }
  [[nodiscard]] bool toggle(std::string_view name) const { return find<bool>(name).value_or(false); }

  /// `value` has passed check_data_value().
  void set(std::string_view name, data_option_value value) {
    values_.insert_or_assign(std::string(name), std::move(value));
  }
  [[nodiscard]] const data_option_value* find_value(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }

 private:
  template <class Held>
  [[nodiscard]] std::optional<Held> find(std::string_view name) const {
    const data_option_value* value = find_value(name);
    return value == nullptr ? std::nullopt : std::optional<Held>(std::get<Held>(*value));
  }

  std::map<std::string, data_option_value, std::less<>> values_;
};

/// What a kind's open function gets.
struct data_request {
  /// As the user named the data, in canonical form: what errors name. "npz:x.npz,label=y".
  std::string specification = {};
  /// One path for most kinds, never empty; for a kind that takes several what stands between commas and is no option.
  std::vector<std::string> paths = {};
  data_options options = {};
  /// The options in canonical form and in the order of the table: ",label=start+end". It fits data_set::reading().
  std::string options_text = {};

  [[nodiscard]] const std::string& path() const { return paths.front(); }
};

/// Null if the table has no option of that name. Hyphens and underscores are alike.
const data_option* find_data_option(std::span<const data_option> table, std::string_view name);

/// "a whole number from 1 to 65535", "3 real numbers from 0 to 1 with + between them".
std::string expected_text(const data_option& option);

/// Form and range. Errors: E0103 with `where`, which names option, value and what was expected.
expected<void> check_data_value(const data_option& option, const data_option_value& value, const std::string& where);

/// Reads a value as a flag has it, with commas between the items of a list, of which each may stand in double quotes.
/// Checked. Errors: as check_data_value.
expected<data_option_value> parse_data_flag(const data_option& option, std::string_view text, const std::string& where);

}  // namespace troupe
