#include "random_set.hpp"

#include <ATen/Functions.h>

#include "messages/check.hpp"

namespace troupe::bench {
namespace {

constexpr std::uint64_t pool_samples = 8192;
/// A range that begins near the pool's end still is one view: data_set_source reads fewer samples than this at a time.
constexpr std::uint64_t range_samples_max = 1024;
constexpr std::uint64_t endless = std::uint64_t{1} << 32;

class random_set final : public data_set {
 public:
  explicit random_set(std::int64_t features) : features_(features) {
    const auto rows = static_cast<std::int64_t>(pool_samples + range_samples_max);
    inputs_ = at::randn({rows, features});
    labels_ = at::randint(features, {rows}, at::kLong);
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return endless; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {features_}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return static_cast<std::uint32_t>(features_); }
  [[nodiscard]] std::string name() const override { return "random:" + std::to_string(features_); }

  [[nodiscard]] bool has_constant_memory() const noexcept override { return true; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    TROUPE_CHECK(range.size() <= range_samples_max, "a range of the pool is one view");
    const auto begin = static_cast<std::int64_t>(range.begin % pool_samples);
    const auto count = static_cast<std::int64_t>(range.size());
    return sample_block{inputs_.narrow(0, begin, count), labels_.narrow(0, begin, count)};
  }

 private:
  std::int64_t features_;
  at::Tensor inputs_;
  at::Tensor labels_;
};

}  // namespace

data_set_ptr make_random_set(std::int64_t features) {
  return std::make_shared<const random_set>(features);
}

}  // namespace troupe::bench
