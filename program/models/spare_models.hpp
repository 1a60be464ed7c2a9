#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "program/models/layered_model.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The models that a worker without a stage (a spare) has loaded, and rewritten where that is asked for, so that it
/// need not load when it becomes a stage. The first take() ends that: nothing more is prepared, and nothing is kept.
/// Threads: any.
class spare_models {
 public:
  /// Calls `load` in this thread, and keeps the result under the pipeline's name. Does nothing after a take(). An error
  /// is dropped: the stage that needs the model loads it again, and tells it. Files of more than
  /// limits::spare_model_bytes_max together are left on disk: a second copy of its weights would wait for a death that
  /// may never come.
  void prepare(const std::string& name, const std::vector<std::string>& files,
               const std::function<expected<layered_model_ptr>()>& load);
  /// No take() yet: this worker has no stage.
  [[nodiscard]] bool is_spare() const;
  /// The model of a pipeline, by name, as the worker becomes a stage; all others are freed. Null if it is not ready:
  /// the caller loads it then.
  [[nodiscard]] layered_model_ptr take(const std::string& name);

 private:
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::map<std::string, layered_model_ptr> ready_;
};

/// Gives the calling thread the lowest priority, so that stages lose no time to a spare.
void yield_to_stages() noexcept;

}  // namespace troupe
