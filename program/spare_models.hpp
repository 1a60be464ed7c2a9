#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "messages/error.hpp"
#include "runtime/model/layer_chain.hpp"

namespace troupe {

/// What a worker without a stage has loaded, and optimized where that is asked for, so that becoming a stage takes no
/// time for it. Once it has become one, nothing more is prepared, and nothing is kept. Threads: any.
class spare_models {
 public:
  /// Errors are left to whoever needs the model. A file that is larger than limits::spare_model_bytes_max is left on
  /// disk: two copies of its weights would wait for a death that may never come.
  void prepare(const std::string& name, const std::string& file, const std::function<expected<layer_chain>()>& load);
  /// Nobody has asked yet: this worker has no stage.
  [[nodiscard]] bool is_spare() const;
  /// Nothing if it is not ready; whoever asks loads it then.
  [[nodiscard]] std::optional<layer_chain> take(const std::string& name);

 private:
  mutable std::mutex mutex_;
  bool closed_ = false;
  std::map<std::string, layer_chain> ready_;
};

/// At the lowest priority, so that stages lose no time to a spare.
void yield_to_stages() noexcept;

}  // namespace troupe
