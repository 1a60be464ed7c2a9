#include "runtime/edge/cuda_ipc/ipc_returns.hpp"

namespace troupe::ipc {

// A device that has failed reads nothing any more.
reading::~reading() {
  if (tools_->readers == nullptr || !tools_->device->enter_thread()) return;
  auto read = tools_->readers->record();
  if (!read || (*read)->has_passed().value_or(true)) return;
  poller_->add([event = std::move(*read), kept = std::make_shared<const parts_in_use>(
                                              std::move(in_use_))] { return event->has_passed().value_or(true); },
               event_poller::pace::device);
}

void ring_when_passed(event_poller& poller, std::shared_ptr<context_event> event, std::weak_ptr<own_bell> bell) {
  poller.add(
      [event = std::move(event), bell = std::move(bell)] {
        const auto there = bell.lock();
        if (there == nullptr) return true;
        if (!event->has_passed().value_or(true)) return false;
        there->ring();
        return true;
      },
      event_poller::pace::device);
}

}  // namespace troupe::ipc
