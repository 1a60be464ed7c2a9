#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "messages/agent.hpp"
#include "runtime/os/blob.hpp"

namespace troupe {

/// Which blobs an agent has, under which numbers: the content of a blob leaves once, however many workers of the node
/// share it. A blob that is kept here alone is forgotten at the next chance. Threads: any.
class sent_blobs {
 public:
  using send_part = std::function<expected<void>(blob_part part)>;

  /// The page of a worker of this node: it is spoken of by the worker's rank, and its content does not travel.
  void know_page(const blob& page, std::uint32_t rank);
  void forget_page(const blob& page);

  /// How the agent knows the blob, after its content was sent, where it is not known yet. E0614 where its memory cannot
  /// be read; errors of `send`.
  [[nodiscard]] expected<blob_reference> reference_to(const blob& what, const send_part& send);
  /// How the agent knows the blob; nothing where it does not.
  [[nodiscard]] std::optional<blob_reference> find(const blob& what) { return known(what).first; }
  /// The numbers of those that are not used here any more, each once.
  [[nodiscard]] std::vector<std::uint64_t> take_unused();
  /// The agent has dropped all.
  void clear();

 private:
  struct entry {
    blob kept;
    blob_reference reference;
  };
  /// And how often all were dropped until now.
  [[nodiscard]] std::pair<std::optional<blob_reference>, std::uint64_t> known(const blob& what);

  /// Held while content leaves, which may wait for the link; the other one is not.
  std::mutex sending_;
  std::mutex mutex_;
  std::map<const void*, entry> known_;
  /// Blobs of which a part has left, and no more will.
  std::vector<std::uint64_t> begun_;
  std::uint64_t times_cleared_ = 0;
  std::uint64_t last_number_ = 0;
};

}  // namespace troupe
