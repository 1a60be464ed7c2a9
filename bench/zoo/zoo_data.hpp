#pragma once

#include <memory>
#include <string>
#include <vector>

#include <troupe/data_set.hpp>

namespace troupe::bench {

inline constexpr std::int64_t largest_batch = 3;

/// What make_zoo.py records beside each model, as samples for micro-batches of 3, 3, 3 and 2: the inputs by name, and
/// as labels what eager PyTorch gave for each batch as a whole.
class zoo_data final : public data_set {
 public:
  /// `file`: data.pt. Throws what LibTorch throws for one that it cannot read.
  explicit zoo_data(const std::string& file);

  /// Names of the model's outputs, and of the labels that belong to them.
  [[nodiscard]] const std::vector<std::string>& outputs() const noexcept { return outputs_; }
  [[nodiscard]] const std::vector<std::string>& labels() const noexcept { return labels_; }

  [[nodiscard]] std::uint64_t size() const noexcept override;
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override;
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return file_; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override;

 private:
  std::string file_;
  std::vector<std::string> outputs_;
  std::vector<std::string> labels_;
  named_tensors all_inputs_;
  named_tensors all_labels_;
};

using zoo_data_ptr = std::shared_ptr<const zoo_data>;

}  // namespace troupe::bench
