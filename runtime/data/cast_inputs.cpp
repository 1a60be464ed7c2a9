#include <utility>

#include "messages/exception_text.hpp"
#include "runtime/data/cast_names.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

namespace {

class cast_set final : public data_set {
 public:
  cast_set(data_set_ptr base, at::ScalarType dtype) : base_(std::move(base)), dtype_(dtype) {}

  [[nodiscard]] std::uint64_t left_out() const noexcept override { return base_->left_out(); }
  [[nodiscard]] std::vector<std::string> left_out_reasons() const override { return base_->left_out_reasons(); }
  [[nodiscard]] std::vector<std::string> remarks() const override { return base_->remarks(); }
  [[nodiscard]] std::uint64_t size() const noexcept override { return base_->size(); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return base_->sample_shape(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return base_->classes(); }
  [[nodiscard]] std::string name() const override { return base_->name() + "," + cast_name_of(dtype_); }
  [[nodiscard]] std::string reading() const override { return base_->reading() + "," + cast_name_of(dtype_); }
  [[nodiscard]] std::vector<std::string> files() const override { return base_->files(); }

  [[nodiscard]] bool has_constant_memory() const noexcept override { return base_->has_constant_memory(); }
  [[nodiscard]] bool has_varying_sizes() const noexcept override { return base_->has_varying_sizes(); }
  [[nodiscard]] std::map<std::string, std::int64_t> padding() const override { return base_->padding(); }

  [[nodiscard]] std::shared_ptr<const metric> own_metric(const std::string& name) const override {
    return base_->own_metric(name);
  }
  [[nodiscard]] metric_advice advice() const override { return base_->advice(); }
  [[nodiscard]] expected<std::vector<std::string>> ids(sample_range range) const override { return base_->ids(range); }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    expected<sample_block> block = base_->read(range);
    return block ? cast(std::move(*block)) : block;
  }

 private:
  [[nodiscard]] expected<sample_block> cast(sample_block block) const try {
    const bool is_only = block.inputs.size() == 1;
    named_tensors cast;
    for (const auto& [name, tensor] : block.inputs) {
      cast.set(name, is_only || tensor.is_floating_point() ? tensor.to(dtype_) : tensor);
    }
    block.inputs = std::move(cast);
    return block;
  } catch (const std::exception& e) {
    return fail(error_code::source_failed, name(), "its inputs cannot be cast: " + exception_text(e),
                "use a smaller micro-batch");
  }

  data_set_ptr base_;
  at::ScalarType dtype_;
};

}  // namespace

data_set_ptr cast_inputs(data_set_ptr data, at::ScalarType dtype) {
  return std::make_shared<const cast_set>(std::move(data), dtype);
}

}  // namespace troupe
