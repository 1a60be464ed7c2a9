#include "runtime/ledger/block_prefetch.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "runtime/os/blocked_signals.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {

namespace {

constexpr std::uint64_t blocks_ahead_per_thread = 2;

}  // namespace

block_prefetch::block_prefetch(maker make, const prefetch_options& options)
    : make_(std::move(make)), options_(options), largest_bytes_(options.bytes_guess), end_(options.count) {}

expected<std::unique_ptr<block_prefetch>> block_prefetch::start(maker make, const prefetch_options& options) {
  TROUPE_CHECK(options.threads >= 1, "options were checked");
  std::unique_ptr<block_prefetch> made(new block_prefetch(std::move(make), options));
  const blocked_signals none_here;
  const std::uint64_t wanted = std::min<std::uint64_t>(options.threads, options.count);
  made->threads_.reserve(wanted);
  for (std::uint64_t i = 0; i < wanted; ++i) {
    auto thread = start_thread("data worker", [at = made.get()] { at->work(); });
    if (!thread && i == 0) return tl::make_unexpected(std::move(thread.error()));
    if (!thread) break;
    made->threads_.push_back(std::move(*thread));
  }
  return made;
}

block_prefetch::~block_prefetch() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  room_.notify_all();
  for (std::thread& each : threads_) each.join();
}

bool block_prefetch::may_begin() const noexcept {
  if (next_begun_ == next_taken_) return true;
  if (next_begun_ - next_taken_ >= blocks_ahead_per_thread * options_.threads) return false;
  return waiting_bytes_ + (under_way_ + 1) * largest_bytes_ <= options_.bytes_max;
}

expected<prefetched_block> block_prefetch::make_guarded(std::uint64_t index) const try {
  return make_(index);
} catch (...) {
  return fail(error_code::source_failed, "data worker", "making a block threw: " + current_exception_text(),
              "check what the data set does when it is read, outside the pipeline");
}

void block_prefetch::work() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    room_.wait(lock, [this] { return is_stopping_ || next_begun_ >= end_ || may_begin(); });
    if (is_stopping_ || next_begun_ >= end_) return;
    const std::uint64_t index = next_begun_++;
    ++under_way_;
    lock.unlock();
    expected<prefetched_block> block = make_guarded(index);
    lock.lock();
    --under_way_;
    if (block) {
      waiting_bytes_ += block->bytes;
      largest_bytes_ = std::max(largest_bytes_, block->bytes);
    } else {
      end_ = std::min(end_, index + 1);
    }
    waiting_.emplace(index, std::move(block));
    made_.notify_one();
    room_.notify_all();  // one that failed ends the others
  }
}

expected<std::shared_ptr<const void>> block_prefetch::take() {
  std::unique_lock lock(mutex_);
  TROUPE_CHECK(next_taken_ < end_, "the caller counts the blocks");
  made_.wait(lock, [this] { return waiting_.contains(next_taken_); });
  auto node = waiting_.extract(next_taken_);
  expected<prefetched_block>& block = node.mapped();
  if (!block) return tl::make_unexpected(std::move(block.error()));
  ++next_taken_;
  waiting_bytes_ -= block->bytes;
  room_.notify_all();
  return std::move(block->content);
}

}  // namespace troupe
