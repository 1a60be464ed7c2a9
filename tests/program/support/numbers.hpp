#pragma once

#include <bit>
#include <memory>
#include <mutex>
#include <set>

#include <ATen/Functions.h>

#include <troupe/data_set.hpp>
#include <troupe/metric.hpp>

namespace troupe::testing {

/// Sample k is [k, 10 k], its label k.
class number_set final : public data_set {
 public:
  explicit number_set(std::uint64_t size) : size_(size) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {2}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 10; }
  [[nodiscard]] std::string name() const override { return "numbers"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const at::Tensor rows = at::arange(static_cast<std::int64_t>(range.begin), static_cast<std::int64_t>(range.end));
    const at::Tensor values = rows.to(at::kFloat);
    return sample_block{at::stack({values, at::mul(values, 10)}, 1), rows};
  }

 private:
  std::uint64_t size_;
};

inline data_set_ptr numbers(std::uint64_t size) {
  return std::make_shared<number_set>(size);
}

/// The sum of all outputs, in double.
class sum_of_outputs final : public metric {
 public:
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return 1; }
  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t> state,
                                            std::vector<std::byte>&) const override {
    state[0] = std::bit_cast<std::uint64_t>((*part.output().value()).to(at::kDouble).sum().item<double>());
    return {};
  }
  void merge_words(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const override {
    total[0] = std::bit_cast<std::uint64_t>(std::bit_cast<double>(total[0]) + std::bit_cast<double>(part[0]));
  }
  [[nodiscard]] metric_value compute_total(const metric_total& total) const override {
    metric_value value{name_, {}};
    value.fields.push_back({"sum", false, false, {std::bit_cast<double>(total.words[0])}, {}});
    return value;
  }

 private:
  std::string name_ = "sum";
};

/// Which rows it was asked about, each with its own label; fails where a label is another row's.
class rows_seen final : public metric {
 public:
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return 0; }
  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t>,
                                            std::vector<std::byte>&) const override {
    const at::Tensor& outputs = *part.output().value();
    const at::Tensor& labels = *part.label().value();
    const std::lock_guard lock(mutex_);
    std::int64_t before = -1;
    for (std::int64_t row = 0; row < outputs.size(0); ++row) {
      const auto value = static_cast<std::int64_t>(outputs[row][0].item<float>());
      if (labels[row].item<std::int64_t>() != value || value <= before) {
        return fail(error_code::metric_failed, "rows_seen", "a label of another sample, or out of order");
      }
      before = value;
      rows_.insert(value);
    }
    return {};
  }
  void merge_words(std::span<std::uint64_t>, std::span<const std::uint64_t>) const override {}
  [[nodiscard]] metric_value compute_total(const metric_total&) const override { return {name_, {}}; }

  [[nodiscard]] std::set<std::int64_t> rows() const {
    const std::lock_guard lock(mutex_);
    return rows_;
  }

 private:
  std::string name_ = "rows_seen";
  mutable std::mutex mutex_;
  mutable std::set<std::int64_t> rows_;
};

}  // namespace troupe::testing
