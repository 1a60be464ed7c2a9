#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// A block that was made, with the memory that it holds.
struct prefetched_block {
  std::shared_ptr<const void> content;
  std::uint64_t bytes = 0;
};

struct prefetch_options {
  /// Blocks 0 to `count` - 1 are made.
  std::uint64_t count = 0;
  /// At least 1.
  std::uint32_t threads = 1;
  /// Blocks that are made ahead of the one that take() gives next: bytes of those that wait, with those that are under
  /// way, each counted as the largest so far. The block that take() gives next is always made.
  std::uint64_t bytes_max = 0;
  /// What the first block probably holds.
  std::uint64_t bytes_guess = 0;
};

/// Makes blocks on several threads, some ahead of their use, and gives them in their order. At most 2 blocks per thread
/// are ahead.
///
/// Threads: one thread takes and destroys. `make` is called by several threads at a time, each index once, in ascending
/// order of its start.
class block_prefetch {
 public:
  /// An exception that leaves it becomes E0604.
  using maker = std::function<expected<prefetched_block>(std::uint64_t index)>;

  /// With as many threads as the system gives. E0614 where it gives none.
  [[nodiscard]] static expected<std::unique_ptr<block_prefetch>> start(maker make, const prefetch_options& options);

  block_prefetch(const block_prefetch&) = delete;
  block_prefetch& operator=(const block_prefetch&) = delete;
  /// Waits for the blocks that are being made, and drops all. No thread is left.
  ~block_prefetch();

  /// The next block, in order; waits until it is made. Called at most `count` times, and not after an error, which is
  /// that of the first block that failed, whatever failed earlier behind it.
  [[nodiscard]] expected<std::shared_ptr<const void>> take();

 private:
  block_prefetch(maker make, const prefetch_options& options);

  void work() noexcept;
  [[nodiscard]] bool may_begin() const noexcept;
  [[nodiscard]] expected<prefetched_block> make_guarded(std::uint64_t index) const;

  const maker make_;
  const prefetch_options options_;
  std::mutex mutex_;
  std::condition_variable made_;
  std::condition_variable room_;
  std::map<std::uint64_t, expected<prefetched_block>> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t largest_bytes_;
  std::uint64_t under_way_ = 0;
  std::uint64_t next_begun_ = 0;
  std::uint64_t next_taken_ = 0;
  /// No block from here on is begun: `count`, or behind one that failed.
  std::uint64_t end_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace troupe
