#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/table_source.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The labels of texts in a table: classes, or numbers. Keeps 8 bytes for each row.
class text_labels {
 public:
  /// `are_numbers`: target=; else `given` are the names of classes that a user gave, and `known` those of the model's
  /// config.json, in their order.
  text_labels(bool are_numbers, std::vector<std::string> given, std::vector<std::string> known)
      : are_numbers_(are_numbers), given_(std::move(given)), known_(std::move(known)) {}

  /// One row. Errors: E0303 for no label, or none that is a number where labels are; E0305 for too many classes.
  expected<void> add(const table_cell& cell, const std::string& place);
  /// After all rows. Names that were given decide; else all labels are whole numbers, which are the classes; else they
  /// are names that the model's config.json knows; else classes are all names sorted by their bytes. Errors: E0305 for
  /// a name that is none of them, and as table_classes.
  expected<void> decide(const std::string& path);

  [[nodiscard]] bool are_numbers() const noexcept { return are_numbers_; }
  /// After decide().
  [[nodiscard]] std::uint32_t classes() const noexcept { return classes_; }
  [[nodiscard]] std::int64_t class_of(std::uint64_t row) const { return numbers_of_names_[names_[row]]; }
  [[nodiscard]] float number_of(std::uint64_t row) const { return numbers_[row]; }

 private:
  struct found_name {
    std::string name;
    std::string place;
  };

  bool are_numbers_;
  std::vector<std::string> given_;
  std::vector<std::string> known_;
  std::vector<float> numbers_;
  /// By row: which of found_.
  std::vector<std::uint32_t> names_;
  std::vector<found_name> found_;
  std::map<std::string, std::uint32_t, std::less<>> places_;
  std::vector<std::int64_t> numbers_of_names_;
  std::uint32_t classes_ = 0;
};

}  // namespace troupe
