#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "program/layered_model.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What a worker without a stage has loaded, and optimized where that is asked for, so that becoming a stage takes no
/// time for it. Once it has become one, nothing more is prepared, and nothing is kept. Threads: any.
class spare_models {
 public:
  /// Errors are left to the stage that needs the model. A file that is larger than limits::spare_model_bytes_max is
  /// left on disk: two copies of its weights would wait for a death that may never come.
  void prepare(const std::string& name, const std::string& file,
               const std::function<expected<layered_model_ptr>()>& load);
  /// No stage has asked yet: this worker has none.
  [[nodiscard]] bool is_spare() const;
  /// Null if it is not ready; the caller loads it then.
  [[nodiscard]] layered_model_ptr take(const std::string& name);

 private:
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::map<std::string, layered_model_ptr> ready_;
};

/// At the lowest priority, so that stages lose no time to a spare.
void yield_to_stages() noexcept;

}  // namespace troupe
