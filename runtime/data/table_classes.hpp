#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// A label that is a whole number, also written as a real, 3.0, which is how pandas writes whole numbers in a column
/// that lacks some.
std::optional<std::int64_t> class_number(const std::string& label);

/// The classes of one column of labels. If all labels of the file are whole numbers, a label is its class. Else labels
/// are names, and classes their places in the list that a user gave, or else in all names sorted by their bytes.
class table_classes {
 public:
  /// Different names, and bytes of all of them.
  static constexpr std::size_t names_max = 65536;
  static constexpr std::size_t name_bytes_max = 16 << 20;

  /// `given`: names in the order of their classes; empty where the user gave none.
  explicit table_classes(const std::vector<std::string>& given);

  /// One label of the file, before decide(). `place` is where it stands. Errors: E0305 for a number that is too large,
  /// a name that was not given, and for more names than there may be.
  expected<void> add(const std::string& label, const std::string& place);
  /// After all labels but those that are left out. Errors: E0305 for a negative number, and for numbers that are not
  /// whole.
  expected<void> decide(const std::string& place);

  /// After decide(), of a label that was added.
  [[nodiscard]] std::optional<std::int64_t> class_of(const std::string& label) const;
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

 private:
  bool is_given_ = false;
  bool are_numbers_ = true;
  /// More than there may be, which numbers need not be kept for.
  bool is_overfull_ = false;
  std::map<std::string, std::int64_t, std::less<>> names_;
  std::size_t name_bytes_ = 0;
  std::int64_t least_ = 0;
  std::int64_t greatest_ = -1;
  std::string least_place_;
  std::string first_name_;
  std::string first_name_place_;
  std::uint32_t count_ = 0;
};

}  // namespace troupe
