#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include "runtime/graph/graph_weights.hpp"
#include <troupe/error.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// What an architecture takes of a state dict, by names and sizes. Nothing fails at once: finish() tells all that does
/// not fit together.
class weight_reader {
 public:
  /// `file` stands for the weights in errors.
  weight_reader(std::string file, const state_dict& from);

  /// The names of the file may lack this prefix, which the architecture's names have: "bert." in a file of BertModel.
  /// Before all that follows.
  void set_base(const std::string& prefix);
  /// The other way round: the names of the file may have this prefix, which the architecture's lack.
  void set_whole(const std::string& prefix);
  /// Names of the file that end with `from` end with `to` from now on: old files have "LayerNorm.gamma".
  void rename_ends(const std::string& from, const std::string& to);

  /// The tensor of this name and these sizes; a floating one in the floating type that most numbers of the file have,
  /// as operators want one type. One that the file lacks, or has in other sizes, is noted, and a tensor without memory
  /// (the meta device) comes in its place. The same name gives the same tensor each time.
  at::Tensor take(const std::string& name, at::IntArrayRef sizes);
  /// The sizes that the file has for a name, for what no configuration says, such as the number of classes.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> sizes_of(const std::string& name) const;
  /// A tensor of the file that the model does not need, by the end of its name: "num_batches_tracked".
  void ignore(std::string end) { left_out_.ends.push_back(std::move(end)); }
  /// Tensors of the file in a module that the model does not have: "cls.".
  void ignore_module(std::string prefix) { left_out_.modules.push_back(std::move(prefix)); }

  /// What ignore() and ignore_module() were told.
  [[nodiscard]] const names_left_out& left_out() const noexcept { return left_out_; }

  /// E0218 lists the names that are missing, those of other sizes, and, if `strict`, those that nothing has taken.
  [[nodiscard]] expected<void> finish(bool strict) const;

 private:
  [[nodiscard]] std::string in_file(const std::string& name) const;
  [[nodiscard]] const at::Tensor* find(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> unexpected() const;

  std::string file_;
  std::vector<std::string> order_;
  std::unordered_map<std::string, at::Tensor> from_;
  c10::ScalarType floating_ = c10::kFloat;
  /// See set_base(); empty where the file has it.
  std::string taken_off_;
  /// See set_whole(); empty where the file lacks it.
  std::string put_on_;
  names_left_out left_out_;
  std::unordered_map<std::string, at::Tensor> taken_;
  /// Names alone, and with their sizes.
  std::vector<std::string> missing_names_;
  std::vector<std::string> missing_;
  std::vector<std::string> other_sizes_;
};

}  // namespace troupe
