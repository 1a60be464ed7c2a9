#include "program/models/spare_models.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "program/models/local_file.hpp"

namespace troupe {

void spare_models::prepare(const std::string& name, const std::vector<std::string>& files,
                           const std::function<expected<layered_model_ptr>()>& load) {
  std::uint64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code unknown;
    bytes += std::filesystem::file_size(local_file(file), unknown);
    if (unknown || bytes > limits::spare_model_bytes_max) return;
  }
  if (!is_spare()) return;
  auto loaded = load();
  const std::lock_guard lock{mutex_};
  if (loaded && !closed_) ready_.insert_or_assign(name, std::move(*loaded));
}

bool spare_models::is_spare() const {
  const std::lock_guard lock{mutex_};
  return !closed_;
}

layered_model_ptr spare_models::take(const std::string& name) {
  const std::lock_guard lock{mutex_};
  closed_ = true;
  auto all = std::exchange(ready_, {});
  const auto found = all.find(name);
  return found == all.end() ? nullptr : std::move(found->second);
}

void yield_to_stages() noexcept {
  constexpr int lowest = 19;
  // The priority of the calling thread alone, as Linux has it.
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), lowest));
}

}  // namespace troupe
