#pragma once

#include <bit>
#include <cmath>
#include <string>

#include <ATen/Functions.h>

#include <troupe/troupe.hpp>

namespace examples {

/// A data source of one's own: another data set, upside down. Random access: any range can be read again.
class upside_down final : public troupe::data_set {
 public:
  explicit upside_down(troupe::data_set_ptr base) : base_(std::move(base)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return base_->size(); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return base_->sample_shape(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return base_->classes(); }
  [[nodiscard]] std::string name() const override { return base_->name() + ", upside down"; }
  [[nodiscard]] troupe::expected<troupe::sample_block> read(troupe::sample_range range) const override {
    return base_->read(range).map([](const troupe::sample_block& block) {
      return troupe::sample_block{block.inputs.flip({2}).contiguous(), block.labels};
    });
  }

 private:
  troupe::data_set_ptr base_;
};

/// A metric of one's own: the mean probability that the model gives to its first choice. The state is a sum (a double,
/// as its bits) and a count.
class mean_confidence final : public troupe::metric {
 public:
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return 2; }

  [[nodiscard]] troupe::expected<void> update(const at::Tensor& outputs, const at::Tensor&,
                                              std::span<std::uint64_t> state) const override {
    const at::Tensor best = outputs.amax(1).to(at::kDouble).contiguous();
    double sum = 0;
    for (std::int64_t row = 0; row < best.size(0); ++row) sum += std::exp(best.const_data_ptr<double>()[row]);
    state[0] = std::bit_cast<std::uint64_t>(std::bit_cast<double>(state[0]) + sum);
    state[1] += static_cast<std::uint64_t>(best.size(0));
    return {};
  }
  void merge(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) const override {
    total[0] = std::bit_cast<std::uint64_t>(std::bit_cast<double>(total[0]) + std::bit_cast<double>(part[0]));
    total[1] += part[1];
  }
  [[nodiscard]] troupe::metric_value compute(std::span<const std::uint64_t> total) const override {
    const double mean = std::bit_cast<double>(total[0]) / static_cast<double>(total[1]);
    troupe::metric_value value{name_, {}};
    value.fields.push_back({"mean", false, false, {mean}, {}});
    value.fields.push_back({"count", false, true, {}, {total[1]}});
    return value;
  }

 private:
  std::string name_ = "mean_confidence";
};

inline troupe::topology own_parts(const std::string& data_dir, troupe::stage_options each = {}) {
  const auto base = troupe::open_data("mnist:" + data_dir + "/mnist").value();
  return troupe::topology{}
      .source("loader", std::make_shared<upside_down>(base))
      .pipeline("lenet", data_dir + "/mnist/lenet.pt",
                {.stages = 2,
                 .replicas = each.replicas,
                 .optimize = troupe::optimize_mode::none,
                 .num_pipe_buffers = each.num_pipe_buffers})
      .sink("metrics", {"accuracy", std::make_shared<mean_confidence>()});
}

}  // namespace examples
