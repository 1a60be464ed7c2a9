#pragma once

#include <functional>
#include <memory>

#include <troupe/error.hpp>

namespace troupe {

/// Work of a device that can be given to it again and again as a whole. It reads and writes the memory that it was
/// recorded with. Threads: one at a time.
class recorded_graph {
 public:
  recorded_graph() = default;
  recorded_graph(const recorded_graph&) = delete;
  recorded_graph& operator=(const recorded_graph&) = delete;
  virtual ~recorded_graph() = default;

  /// To the calling thread's current stream, behind what that was given before. E0902.
  [[nodiscard]] virtual expected<void> launch() = 0;
};

/// Records graphs on one device. Threads: one.
class kernel_recorder {
 public:
  kernel_recorder() = default;
  kernel_recorder(const kernel_recorder&) = delete;
  kernel_recorder& operator=(const kernel_recorder&) = delete;
  virtual ~kernel_recorder() = default;

  /// Calls `work`, which gives the thread's current stream something to do: it is recorded, and not done. Memory that
  /// `work` takes belongs to the graph as long as that lives, and also what it has freed again. E0902 where `work`
  /// waited for the device, did something else that cannot be recorded, or threw; nothing is recorded then.
  [[nodiscard]] virtual expected<std::unique_ptr<recorded_graph>> record(const std::function<void()>& work) = 0;
};

}  // namespace troupe
