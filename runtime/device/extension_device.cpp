#include "runtime/device/extension_device.hpp"

#include <mutex>
#include <utility>

namespace troupe {
namespace {

struct known_device {
  std::mutex guard;
  extension_device what;
};

known_device& known() {
  static known_device one;
  return one;
}

}  // namespace

void set_extension_device(extension_device made) {
  const std::lock_guard lock{known().guard};
  known().what = std::move(made);
}

extension_device get_extension_device() {
  const std::lock_guard lock{known().guard};
  return known().what;
}

}  // namespace troupe
