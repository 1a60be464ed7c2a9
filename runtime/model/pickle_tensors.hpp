#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troupe {

/// The bytes that a pickle's tensors have in an entry of the archive, by its name below the pickle's folder.
struct pickled_record {
  std::string name;
  std::uint64_t bytes = 0;
};

/// Elements of a tensor for each element in memory, where a dimension has no stride: a mask that was expanded has some
/// thousand.
inline constexpr std::uint64_t pickled_repeats_max = std::uint64_t{1} << 20;

/// How deep LibTorch's parser of types goes for a text: for brackets, and for signs, words and dots in a row.
std::size_t type_depth(std::string_view text);

/// One value on the stack of a pickle, as far as its tensors need to be known.
struct pickled_value {
  enum class kind : std::uint8_t { other, number, text, global, tuple, storage };

  /// Of holding_graph; 0 for what holds nothing.
  std::uint32_t node = 0;
  kind what = kind::other;
  /// A number's value; a storage's elements.
  std::int64_t number = 0;
  /// A text's letters; of a global "torch FloatStorage".
  std::string_view text = {};
};

/// Checks what a pickle says of its tensors. LibTorch believes everything: elements that are not in the record, strides
/// that lead out of the storage, numbers for the names of types and functions.
class pickled_tensors {
 public:
  /// The members of a tuple that may be an argument.
  void add_tuple(std::uint32_t node, std::vector<pickled_value> members) { tuples_[node] = std::move(members); }

  /// The tuple ("storage", type, record, device, elements) becomes a storage. False if it is none, or too large.
  bool take_storage(pickled_value& value);

  /// What LibTorch may be told to call with this tuple; false for another value than a function, or a tensor that
  /// cannot be.
  bool take_call(const pickled_value& function, const pickled_value& arguments);

  [[nodiscard]] std::vector<pickled_record> take_records() { return std::move(records_); }
  /// Whether a tensor has indices of its own, which no scan can check.
  [[nodiscard]] bool has_sparse() const { return has_sparse_; }
  /// How deep a parser goes for the names of types that stand in texts.
  [[nodiscard]] std::size_t deepest_type() const { return deepest_type_; }

 private:
  [[nodiscard]] const std::vector<pickled_value>* members_of(const pickled_value& value) const;
  [[nodiscard]] bool read_numbers(const pickled_value& value, std::vector<std::int64_t>& into) const;
  [[nodiscard]] bool lies_within(const std::vector<pickled_value>& tensor) const;

  std::unordered_map<std::uint32_t, std::vector<pickled_value>> tuples_;
  std::vector<pickled_record> records_;
  bool has_sparse_ = false;
  std::size_t deepest_type_ = 0;
};

}  // namespace troupe
