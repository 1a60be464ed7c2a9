#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/table_source.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The labels of texts in a table: classes, or numbers. Keeps 4 bytes for each class or number, and each name once.
class text_labels {
 public:
  /// `are_numbers`: target=; else `given` are the names of classes that a user gave, and `known` those of the model's
  /// config.json, in their order.
  text_labels(bool are_numbers, std::vector<std::string> given, std::vector<std::string> known)
      : are_numbers_(are_numbers), given_(std::move(given)), known_(std::move(known)) {}

  /// One row of the columns with the label: one of classes, or any of numbers. All of a row have a value. Errors: E0303
  /// for a text where labels are numbers, for another number of them than in the first row, and for an array in place
  /// of a class; E0305 for too many classes.
  expected<void> add(std::span<const std::string* const> cells, std::span<const std::string> columns,
                     const std::string& path, std::uint64_t line);
  /// After all rows. Names that were given decide; else all labels are whole numbers, which are the classes; else they
  /// are names that the model's config.json knows; else classes are all names sorted by their bytes. Errors: E0305 for
  /// a name that is none of them, and as table_classes.
  expected<void> decide(const std::string& path);

  [[nodiscard]] bool are_numbers() const noexcept { return are_numbers_; }
  /// After decide().
  [[nodiscard]] std::uint32_t classes() const noexcept { return classes_; }
  [[nodiscard]] std::int64_t class_of(std::uint64_t row) const { return numbers_of_names_[names_[row]]; }
  /// The shape of numbers in a sample, [] or [L], and number i of a row.
  [[nodiscard]] std::vector<std::int64_t> shape() const;
  [[nodiscard]] std::int64_t numbers_in_row() const noexcept { return numbers_in_row_; }
  [[nodiscard]] float number_of(std::uint64_t row, std::int64_t i) const {
    return numbers_[row * static_cast<std::uint64_t>(numbers_in_row_) + static_cast<std::uint64_t>(i)];
  }

 private:
  struct found_name {
    std::string name;
    std::string place;
  };

  expected<void> add_numbers(std::span<const std::string* const> cells, std::span<const std::string> columns,
                             const std::string& path, std::uint64_t line);
  expected<void> add_class(const std::string& cell, const std::string& place);

  bool are_numbers_;
  std::vector<std::string> given_;
  std::vector<std::string> known_;
  /// By column, as width_of_cell() tells them of the first row.
  std::vector<std::int64_t> widths_;
  std::int64_t numbers_in_row_ = 1;
  /// In blocks, so that it never takes twice what it holds.
  std::deque<float> numbers_;
  /// By row: which of found_.
  std::vector<std::uint32_t> names_;
  std::vector<found_name> found_;
  std::map<std::string, std::uint32_t, std::less<>> places_;
  std::vector<std::int64_t> numbers_of_names_;
  std::uint32_t classes_ = 0;
};

}  // namespace troupe
