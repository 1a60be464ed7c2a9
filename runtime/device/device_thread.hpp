#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "runtime/device/device_context.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A thread that works with the device and does `run`. `where` names it in errors: E0614, and those of
/// device_context::enter_thread(), after which there is no thread.
[[nodiscard]] expected<std::thread> start_device_thread(const std::string& where,
                                                        std::shared_ptr<device_context> device,
                                                        std::function<void()> run);

}  // namespace troupe
