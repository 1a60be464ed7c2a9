#include "repeated_set.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ops/cat.h>

#include "messages/check.hpp"

namespace troupe::bench {
namespace {

class repeated_set final : public data_set {
 public:
  repeated_set(data_set_ptr data, std::uint64_t samples) : data_(std::move(data)), samples_(samples) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return samples_; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return data_->sample_shape(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return data_->classes(); }
  [[nodiscard]] std::string name() const override { return data_->name() + ", repeated"; }

  [[nodiscard]] bool has_constant_memory() const noexcept override { return true; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    std::vector<at::Tensor> inputs;
    std::vector<at::Tensor> labels;
    while (range.size() > 0) {
      const std::uint64_t begin = range.begin % data_->size();
      const std::uint64_t count = std::min(range.size(), data_->size() - begin);
      auto block = data_->read({begin, begin + count});
      if (!block) return block;
      inputs.push_back(block->inputs.begin()->second);
      labels.push_back(block->labels.begin()->second);
      range.begin += count;
    }
    if (inputs.size() == 1) return sample_block{inputs.front(), labels.front()};
    return sample_block{at::cat(inputs), at::cat(labels)};
  }

 private:
  const data_set_ptr data_;
  const std::uint64_t samples_;
};

}  // namespace

data_set_ptr repeat(data_set_ptr data, std::uint64_t samples) {
  TROUPE_CHECK(data != nullptr && data->size() > 0, "there is something to repeat");
  return std::make_shared<const repeated_set>(std::move(data), samples);
}

}  // namespace troupe::bench
