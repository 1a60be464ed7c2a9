#include "runtime/data/data_set_source.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {

namespace {

/// Whole micro-batches. Four bytes per element is a guess for data sets of other types, which costs nothing but the
/// size.
std::uint64_t samples_per_block(const data_set& data, std::uint64_t micro_batch) {
  const std::uint64_t sample_bytes = std::max<std::uint64_t>(1, elements_of(data.sample_shape()) * sizeof(float));
  const std::uint64_t wanted =
      std::min(limits::decode_block_samples, (limits::decode_block_bytes + sample_bytes - 1) / sample_bytes);
  return std::max<std::uint64_t>(1, (wanted + micro_batch - 1) / micro_batch) * micro_batch;
}

expected<aligned_tensors> cut_all(const named_tensors& tensors, std::int64_t rows_per_part, bool is_constant) {
  aligned_tensors made;
  for (const auto& [name, tensor] : tensors) {
    aligned_rows rows = TROUPE_TRY(aligned_rows::cut(tensor, rows_per_part, is_constant));
    made.rows.push_back(std::move(rows));
    made.names.push_back(name);
  }
  return made;
}

}  // namespace

payload_ptr aligned_tensors::part(std::int64_t index, std::uint64_t& bytes) const {
  if (rows.empty()) return nullptr;
  if (rows.size() == 1 && names.front().empty()) {  // the common case costs no list
    at::Tensor only = rows.front().part(index);
    bytes += only.nbytes();
    return make_tensors(std::move(only));
  }
  std::vector<at::Tensor> parts;
  parts.reserve(rows.size());
  for (const aligned_rows& each : rows) {
    parts.push_back(each.part(index));
    bytes += parts.back().nbytes();
  }
  return std::make_shared<const tensor_set>(std::move(parts), names);
}

data_set_source::data_set_source(data_set_ptr data, std::uint64_t micro_batch, std::optional<std::uint64_t> limit,
                                 std::uint64_t first)
    : data_(std::move(data)),
      micro_batch_(micro_batch),
      end_(std::min(data_->size(), limit.value_or(data_->size()))),
      block_samples_(0) {
  TROUPE_CHECK(micro_batch >= 1, "options were checked");
  // A micro-batch larger than the data is the data.
  micro_batch_ = std::min(micro_batch, std::max<std::uint64_t>(1, end_));
  block_samples_ = data_->has_varying_sizes() ? micro_batch_ : samples_per_block(*data_, micro_batch_);
  TROUPE_CHECK(first <= *count(), "no more is left out than there is");
  position_ = std::min(end_, first * micro_batch_);
  block_ = {position_, position_};
}

std::optional<std::uint64_t> data_set_source::count() const {
  return (end_ + micro_batch_ - 1) / micro_batch_;
}

expected<std::optional<loaded_micro_batch>> data_set_source::next() {
  if (position_ == end_) return std::nullopt;
  loaded_micro_batch result = TROUPE_TRY(read_at(position_));
  position_ = result.samples.end;
  return result;
}

expected<loaded_micro_batch> data_set_source::reread(std::uint64_t index) {
  TROUPE_CHECK(index < (position_ + micro_batch_ - 1) / micro_batch_, "what is asked for again was given");
  return read_at(index * micro_batch_);
}

expected<loaded_micro_batch> data_set_source::read_at(std::uint64_t sample) {
  if (sample < block_.begin || block_.end <= sample) {
    if (expected<void> loaded = load_block_at(sample); !loaded) return tl::make_unexpected(loaded.error());
  }
  const auto part = static_cast<std::int64_t>((sample - block_.begin) / micro_batch_);
  loaded_micro_batch result;
  result.samples = {sample, std::min(sample + micro_batch_, end_)};
  result.tensors = inputs_.part(part, result.bytes);
  result.labels = labels_.part(part, result.bytes);
  return result;
}

expected<void> data_set_source::load_block_at(std::uint64_t sample) {
  const sample_range range{sample, std::min(sample + block_samples_, end_)};
  const sample_block block = TROUPE_TRY(read_samples(*data_, range));
  const auto rows = static_cast<std::int64_t>(micro_batch_);
  aligned_tensors inputs = TROUPE_TRY(cut_all(block.inputs, rows, data_->has_constant_memory()));
  aligned_tensors labels = TROUPE_TRY(cut_all(block.labels, rows, data_->has_constant_memory()));
  inputs_ = std::move(inputs);
  labels_ = std::move(labels);
  block_ = range;
  return {};
}

}  // namespace troupe
