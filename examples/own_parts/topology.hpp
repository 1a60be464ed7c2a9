#pragma once

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
      return troupe::sample_block{block.inputs.only().flip({2}), block.labels};
    });
  }

 private:
  troupe::data_set_ptr base_;
};

/// The state of a metric: a plain struct.
struct confidence {
  double sum = 0;
  std::uint64_t count = 0;
};

/// A metric of one's own: the mean probability that the model gives to its first choice.
class mean_confidence final : public troupe::metric_of<confidence> {
 public:
  mean_confidence() : metric_of("mean_confidence") {}

 private:
  [[nodiscard]] troupe::expected<void> update(const at::Tensor& outputs, const at::Tensor&,
                                              confidence& state) const override {
    const at::Tensor best = outputs.amax(1).to(at::kDouble).contiguous();
    for (std::int64_t row = 0; row < best.size(0); ++row) state.sum += std::exp(best.const_data_ptr<double>()[row]);
    state.count += static_cast<std::uint64_t>(best.size(0));
    return {};
  }
  void merge(confidence& total, const confidence& part) const override {
    total.sum += part.sum;
    total.count += part.count;
  }
  [[nodiscard]] troupe::metric_value compute(const confidence& total) const override {
    const double mean = total.sum / static_cast<double>(total.count);
    return {name(),
            {troupe::real_field("mean", mean), troupe::count_field("count", total.count)},
            troupe::metric_form::mean};
  }
};

inline troupe::topology own_parts(const std::string& data_dir, troupe::stage_options each = {}) {
  const auto base = troupe::get(troupe::open_data("mnist:" + data_dir + "/mnist"));
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
