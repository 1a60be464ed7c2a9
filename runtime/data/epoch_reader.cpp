#include "runtime/data/epoch_reader.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/data/data_set_source.hpp"
#include "runtime/data/gathered_samples.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/tensor/named_payload.hpp"
#include "runtime/tensor/torch_threads.hpp"

namespace troupe {

epoch_reader::epoch_reader(data_set_ptr data, epoch_reading how) : data_(std::move(data)), how_(how) {
  TROUPE_CHECK(how_.samples >= 1 && how_.samples <= data_->size() && how_.micro_batch >= 1 && how_.workers >= 1,
               "options were checked");
  how_.micro_batch = std::min(how_.micro_batch, how_.samples);
}

std::uint64_t epoch_reader::micro_batches_left(epoch_position from) const noexcept {
  const std::uint64_t left = how_.samples - from.sample;
  return left / how_.micro_batch + (left % how_.micro_batch == 0 ? 0 : 1);
}

epoch_position epoch_reader::behind(epoch_position from, std::uint64_t micro_batches) const noexcept {
  if (micro_batches >= micro_batches_left(from)) return {from.epoch + 1, 0};
  return {from.epoch, from.sample + micro_batches * how_.micro_batch};
}

std::vector<std::uint64_t> epoch_reader::samples_at(epoch_position from) const {
  std::vector<std::uint64_t> places(std::min(how_.micro_batch, how_.samples - from.sample));
  std::iota(places.begin(), places.end(), from.sample);
  if (!how_.is_shuffled) return places;
  const shuffled_order order(how_.seed, from.epoch, how_.samples);
  for (std::uint64_t& each : places) each = order.sample_at(each);
  return places;
}

expected<sample_block> epoch_reader::read(epoch_position from) {
  TROUPE_CHECK(from.sample < how_.samples, "positions lie in the epoch");
  if (how_.workers == 1) return gathered_samples(*data_, samples_at(from));
  if (ahead_ == nullptr || next_ != from) {
    ahead_ = nullptr;
    ahead_ = TROUPE_TRY(read_ahead(from));
  }
  next_ = behind(from, 1);
  auto taken = ahead_->take();
  if (taken) return *std::static_pointer_cast<const sample_block>(*taken);
  ahead_ = nullptr;
  return tl::make_unexpected(std::move(taken.error()));
}

/// Micro-batch `index` from there on, over the ends of epochs.
epoch_position epoch_reader::nth_from(epoch_position from, std::uint64_t index) const noexcept {
  const std::uint64_t in_this_epoch = micro_batches_left(from);
  if (index < in_this_epoch) return {from.epoch, from.sample + index * how_.micro_batch};
  const std::uint64_t behind_it = index - in_this_epoch;
  const std::uint64_t in_each = micro_batches_left({});
  return {from.epoch + 1 + behind_it / in_each, behind_it % in_each * how_.micro_batch};
}

expected<std::unique_ptr<block_prefetch>> epoch_reader::read_ahead(epoch_position from) const {
  const auto make = [this, from](std::uint64_t index) {
    set_threads_of_this_thread(1);  // a team per worker would be more threads than there are cores
    return gathered_samples(*data_, samples_at(nth_from(from, index))).map([](sample_block&& block) {
      const std::uint64_t bytes = bytes_of(block.inputs) + bytes_of(block.labels);
      return prefetched_block{std::make_shared<const sample_block>(std::move(block)), bytes};
    });
  };
  return block_prefetch::start(make, {.count = std::numeric_limits<std::uint64_t>::max(),
                                      .threads = how_.workers,
                                      .bytes_max = data_ahead_bytes_max,
                                      .bytes_guess = how_.micro_batch * sizeof(float)});
}

expected<std::optional<loaded_micro_batch>> epoch_step::next() {
  if (taken_ == count_) return std::nullopt;
  const sample_block block = TROUPE_TRY(reader_->read(position_));
  const auto rows = static_cast<std::uint64_t>(block.inputs.begin()->second.size(0));
  position_ = reader_->behind(position_, 1);
  ++taken_;
  const sample_range range{samples_, samples_ + rows};
  samples_ = range.end;
  const std::uint64_t bytes = bytes_of(block.inputs) + bytes_of(block.labels);
  return loaded_micro_batch{range, to_payload(block.inputs), block.labels.empty() ? nullptr : to_payload(block.labels),
                            bytes};
}

}  // namespace troupe
