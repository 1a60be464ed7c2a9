#include "testing/late_torch/late_guard.hpp"

#include <array>

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "testing/late_torch/late_streams.hpp"

namespace troupe::late {
namespace {

constexpr auto kind = c10::DeviceType::PrivateUse1;
constexpr c10::DeviceIndex devices = 2;

thread_local c10::DeviceIndex current_device = 0;
/// Stream 0 of each device is its default one.
thread_local std::array<std::int64_t, devices> current_streams = {-1, -2};

c10::Stream stream_on(c10::DeviceIndex device, std::int64_t id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kind, device), id);
}

class guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kind; }
  c10::Device exchangeDevice(c10::Device next) const override {
    const c10::Device before = getDevice();
    setDevice(next);
    return before;
  }
  c10::Device getDevice() const override { return {kind, current_device}; }
  void setDevice(c10::Device next) const override { current_device = next.index(); }
  void uncheckedSetDevice(c10::Device next) const noexcept override { current_device = next.index(); }
  c10::Stream getStream(c10::Device of) const override { return stream_on(of.index(), current_streams.at(of.index())); }
  c10::Stream getDefaultStream(c10::Device of) const override { return stream_on(of.index(), -1 - of.index()); }
  c10::Stream getStreamFromGlobalPool(c10::Device of, bool) const override {
    return stream_on(of.index(), streams().make());
  }
  c10::Stream getNewStream(c10::Device of, int) const override { return stream_on(of.index(), streams().make()); }
  c10::Stream exchangeStream(c10::Stream next) const override {
    const c10::Stream before = getStream(next.device());
    current_streams.at(next.device_index()) = next.id();
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return devices; }

  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override { delete static_cast<stream_point*>(event); }
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) *event = new stream_point;
    *static_cast<stream_point*>(*event) = streams().now(stream.id());
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) streams().wait_for(stream.id(), *static_cast<stream_point*>(event));
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || streams().has_passed(*static_cast<stream_point*>(event));
  }
  bool queryStream(const c10::Stream& stream) const override {
    return streams().has_passed(streams().now(stream.id()));
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    streams().synchronize(streams().now(stream.id()));
  }
  void synchronizeEvent(void* event) const override { streams().synchronize(*static_cast<stream_point*>(event)); }
};

}  // namespace

c10::Stream current_stream() {
  return stream_on(current_device, current_streams.at(current_device));
}

void register_guard() {
  static const guard one;
  static const c10::impl::DeviceGuardImplRegistrar registrar(kind, &one);
}

}  // namespace troupe::late
