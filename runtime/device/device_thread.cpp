#include "runtime/device/device_thread.hpp"

#include <future>
#include <utility>

#include "runtime/os/start_thread.hpp"

namespace troupe {

expected<std::thread> start_device_thread(const std::string& where, std::shared_ptr<device_context> device,
                                          std::function<void()> run) {
  std::promise<expected<void>> entered;
  auto told = entered.get_future();
  auto thread = start_thread(where, [&entered, device = std::move(device), run = std::move(run)] {
    auto there = device->enter_thread();
    const bool is_there = there.has_value();
    entered.set_value(std::move(there));
    if (is_there) run();
  });
  if (!thread) return thread;
  auto there = told.get();
  if (there) return thread;
  thread->join();
  return tl::make_unexpected(std::move(there).error());
}

}  // namespace troupe
