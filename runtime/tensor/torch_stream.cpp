#include "runtime/tensor/torch_stream.hpp"

#include <exception>
#include <string>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "messages/exception_text.hpp"

namespace troupe {
namespace {

tl::unexpected<error> device_error(c10::Device device, const std::exception& caught) {
  return fail(error_code::device_failed, device.str(), exception_text(caught),
              "start the run again; look at the driver's log if it happens again");
}

class torch_event final : public context_event {
 public:
  explicit torch_event(const c10::Stream& stream) : event_(stream.device_type()) { event_.record(stream); }

  [[nodiscard]] expected<bool> has_passed() override try {
    return event_.query();
  } catch (const std::exception& caught) {
    return device_error(event_.device(), caught);
  }

 private:
  c10::Event event_;
};

at::Tensor pinned_like(const at::Tensor& one) {
  return at::empty_like(one, one.options().device(at::kCPU).pinned_memory(true));
}

}  // namespace

expected<torch_stream> torch_stream::make(c10::Device device) try {
  static_cast<void>(at::empty({1}, at::TensorOptions(at::kByte).pinned_memory(true)));  // what bring() will need
  const c10::impl::VirtualGuardImpl known(device.type());
  const c10::Stream made = known.getStreamFromGlobalPool(device);
  c10::Event before(device.type());
  before.record(known.getStream(device));
  before.block(made);
  return torch_stream(made);
} catch (const std::exception& caught) {
  return device_error(device, caught);
}

at::Tensor torch_stream::bring(const at::Tensor& from) const {
  if (!from.device().is_cpu() || from.is_pinned()) return from.to(device(), from.scalar_type(), true);
  return pinned_like(from).copy_(from).to(device(), from.scalar_type(), true);
}

at::Tensor torch_stream::fetch(const at::Tensor& from) {
  return from.device().is_cpu() ? from : pinned_like(from).copy_(from, true);
}

expected<void> torch_stream::check() const try {
  return record()->has_passed().map([](bool) {});
} catch (const std::exception& caught) {
  return device_error(device(), caught);
}

std::shared_ptr<context_event> torch_stream::record() const {
  return std::make_shared<torch_event>(stream_);
}

}  // namespace troupe
