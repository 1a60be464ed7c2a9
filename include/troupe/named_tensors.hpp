#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace troupe {

/// What travels between stages: tensors of any dtype and shape, by name, in the order they were set. Dimension 0 is the
/// samples of the micro-batch wherever samples are scored, routed or joined. One tensor needs no name.
class named_tensors {
 public:
  using entry = std::pair<std::string, at::Tensor>;

  named_tensors() = default;
  /// One tensor, without a name.
  named_tensors(at::Tensor only) { entries_.emplace_back(std::string{}, std::move(only)); }
  /// Names must differ: of two entries with one name, find() gives the first.
  named_tensors(std::initializer_list<entry> entries) : entries_(entries) {}

  /// Adds it, or replaces the one of that name.
  void set(std::string name, at::Tensor tensor);

  /// Null where there is none of that name.
  [[nodiscard]] const at::Tensor* find(const std::string& name) const noexcept;
  /// Throws std::out_of_range that lists the names there are.
  [[nodiscard]] const at::Tensor& at(const std::string& name) const;
  [[nodiscard]] const at::Tensor& operator[](const std::string& name) const { return at(name); }
  /// The only one; throws std::invalid_argument that lists the names if there are others.
  [[nodiscard]] const at::Tensor& only() const;

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] auto begin() const noexcept { return entries_.begin(); }
  [[nodiscard]] auto end() const noexcept { return entries_.end(); }
  /// "logits, features", for messages; "one without a name" for an unnamed one.
  [[nodiscard]] std::string names() const;

 private:
  std::vector<entry> entries_;
};

}  // namespace troupe
