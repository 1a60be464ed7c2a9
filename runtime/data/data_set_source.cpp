#include "runtime/data/data_set_source.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/tensor/torch_threads.hpp"

namespace troupe {

namespace {

/// Four bytes per element is a guess for data sets of other types, which costs nothing but the size.
std::uint64_t sample_bytes(const data_set& data) {
  return std::max<std::uint64_t>(1, elements_of(data.sample_shape()) * sizeof(float));
}

/// Whole micro-batches.
std::uint64_t samples_per_block(const data_set& data, std::uint64_t micro_batch) {
  const std::uint64_t bytes = sample_bytes(data);
  const std::uint64_t wanted = std::min(limits::decode_block_samples, (limits::decode_block_bytes + bytes - 1) / bytes);
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

expected<decoded_block_ptr> decode(const data_set& data, std::uint64_t micro_batch, sample_range range) {
  const sample_block block = TROUPE_TRY(read_samples(data, range));
  const auto rows = static_cast<std::int64_t>(micro_batch);
  aligned_tensors inputs = TROUPE_TRY(cut_all(block.inputs, rows, data.has_constant_memory()));
  aligned_tensors labels = TROUPE_TRY(cut_all(block.labels, rows, data.has_constant_memory()));
  return std::make_shared<const decoded_block>(decoded_block{range, std::move(inputs), std::move(labels)});
}

std::uint64_t bytes_of(const aligned_tensors& tensors) {
  std::uint64_t bytes = 0;
  for (const aligned_rows& each : tensors.rows) bytes += each.bytes();
  return bytes;
}

bool has(const decoded_block_ptr& block, std::uint64_t sample) {
  return block != nullptr && block->samples.begin <= sample && sample < block->samples.end;
}

/// Kernels that copy and cast: a team per worker would be more threads than there are cores.
void take_one_thread() {
  static thread_local bool is_set = false;
  if (!is_set) set_threads_of_this_thread(1);
  is_set = true;
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
                                 std::uint64_t first, std::uint32_t workers)
    : data_(std::move(data)),
      micro_batch_(micro_batch),
      end_(std::min(data_->size(), limit.value_or(data_->size()))),
      block_samples_(0),
      workers_(workers) {
  TROUPE_CHECK(micro_batch >= 1 && workers >= 1, "options were checked");
  // A micro-batch larger than the data is the data.
  micro_batch_ = std::min(micro_batch, std::max<std::uint64_t>(1, end_));
  block_samples_ = data_->has_varying_sizes() ? micro_batch_ : samples_per_block(*data_, micro_batch_);
  TROUPE_CHECK(first <= *count(), "no more is left out than there is");
  position_ = std::min(end_, first * micro_batch_);
}

std::optional<std::uint64_t> data_set_source::count() const {
  return (end_ + micro_batch_ - 1) / micro_batch_;
}

expected<std::optional<loaded_micro_batch>> data_set_source::next() {
  if (position_ == end_) return std::nullopt;
  if (!has(block_, position_)) {
    block_ = nullptr;  // its memory is free for the next one
    block_ = TROUPE_TRY(next_block());
  }
  loaded_micro_batch result = cut_from(*block_, position_);
  position_ = result.samples.end;
  return result;
}

expected<loaded_micro_batch> data_set_source::reread(std::uint64_t index) {
  TROUPE_CHECK(index < (position_ + micro_batch_ - 1) / micro_batch_, "only what was given is asked for again");
  const std::uint64_t sample = index * micro_batch_;
  if (has(block_, sample)) return cut_from(*block_, sample);
  if (!has(read_again_, sample)) {
    read_again_ = nullptr;
    read_again_ = TROUPE_TRY(decode(*data_, micro_batch_, {sample, std::min(sample + block_samples_, end_)}));
  }
  return cut_from(*read_again_, sample);
}

expected<decoded_block_ptr> data_set_source::next_block() {
  const std::uint64_t begin = position_;
  const std::uint64_t blocks = (end_ - begin + block_samples_ - 1) / block_samples_;
  const auto range_of = [begin, end = end_, size = block_samples_](std::uint64_t index) {
    return sample_range{begin + index * size, std::min(begin + (index + 1) * size, end)};
  };
  if (ahead_ == nullptr && (workers_ == 1 || blocks == 1)) return decode(*data_, micro_batch_, range_of(0));
  if (ahead_ == nullptr) {
    const auto make = [data = data_, micro_batch = micro_batch_, range_of](std::uint64_t index) {
      take_one_thread();
      return decode(*data, micro_batch, range_of(index)).map([](decoded_block_ptr block) {
        const std::uint64_t bytes = bytes_of(block->inputs) + bytes_of(block->labels);
        return prefetched_block{std::move(block), bytes};
      });
    };
    ahead_ = TROUPE_TRY(block_prefetch::start(make, {.count = blocks,
                                                     .threads = workers_,
                                                     .bytes_max = data_ahead_bytes_max,
                                                     .bytes_guess = block_samples_ * sample_bytes(*data_)}));
  }
  auto taken = ahead_->take();
  if (!taken || blocks == 1) ahead_ = nullptr;  // an error, or the last one
  if (!taken) return tl::make_unexpected(std::move(taken.error()));
  return std::static_pointer_cast<const decoded_block>(*taken);
}

loaded_micro_batch data_set_source::cut_from(const decoded_block& block, std::uint64_t sample) const {
  const auto part = static_cast<std::int64_t>((sample - block.samples.begin) / micro_batch_);
  loaded_micro_batch result;
  result.samples = {sample, std::min(sample + micro_batch_, end_)};
  result.tensors = block.inputs.part(part, result.bytes);
  result.labels = block.labels.part(part, result.bytes);
  return result;
}

}  // namespace troupe
