#include "testing/late_torch/late_torch.hpp"

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceType.h>

#include "testing/late_torch/late_graphs.hpp"
#include "testing/late_torch/late_guard.hpp"
#include "testing/late_torch/late_memory.hpp"
#include "testing/late_torch/late_streams.hpp"

namespace troupe::late {
namespace {

struct late_hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_memory(); }
};

void register_once() {
  c10::register_privateuse1_backend("late");
  register_guard();
  c10::SetAllocator(c10::DeviceType::PrivateUse1, &device_memory());
  static late_hooks hooks;
  at::RegisterPrivateUse1HooksInterface(&hooks);
}

}  // namespace

void register_late_torch() {
  static const bool done = (register_once(), true);
  static_cast<void>(done);
}

void fail_device() {
  streams().fail();
}

late_counts counts() {
  return {.bytes = bytes_in_use(), .synchronizations = streams().synchronizations(), .launches = launches()};
}

}  // namespace troupe::late
