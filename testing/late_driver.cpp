#include "testing/late_driver.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace troupe::testing {
namespace {

struct late_event {
  bool has_passed = true;
};

/// A step gives false while it has to wait.
using late_step = std::function<bool()>;

struct late_driver_state {
  std::size_t memory_bytes = 0;
  std::size_t contexts = 0;
  std::map<void*, std::unique_ptr<std::vector<std::byte>>> memory;
  /// By handle: one that another process opened is another handle of the same event.
  std::map<std::uintptr_t, std::shared_ptr<late_event>> events;
  std::uintptr_t last_event = 0;
  std::size_t opened_memory = 0;
  std::map<std::deque<late_step>*, std::shared_ptr<std::deque<late_step>>> streams;
  std::size_t live_streams = 0;

  [[nodiscard]] std::size_t used() const {
    std::size_t sum = 0;
    for (const auto& [place, bytes] : memory) sum += bytes->size();
    return sum;
  }
};

late_driver_state& state() {
  static late_driver_state one;
  return one;
}

cuda_result reserve(void** address, std::size_t bytes) {
  if (bytes > state().memory_bytes - state().used()) return cuda_result::out_of_memory;
  auto made = std::make_unique<std::vector<std::byte>>(bytes, std::byte{0xa5});
  *address = made->data();
  state().memory.emplace(*address, std::move(made));
  return cuda_result::success;
}

cuda_result give_back(void* address) {
  return state().memory.erase(address) == 1 ? cuda_result::success : static_cast<cuda_result>(1);
}

std::deque<late_step>& queue_of(cuda_stream stream) {
  return *reinterpret_cast<std::deque<late_step>*>(stream);
}
std::shared_ptr<late_event> event_of(cuda_event event) {
  return state().events.at(reinterpret_cast<std::uintptr_t>(event));
}
cuda_event handle_of(std::shared_ptr<late_event> event) {
  state().events.emplace(++state().last_event, std::move(event));
  return std::bit_cast<cuda_event>(state().last_event);
}

template <class Handle, class Value>
void write_handle(Handle& handle, const Value& value) {
  handle.bytes.fill(0);
  std::memcpy(handle.bytes.data(), &value, sizeof(value));
}
template <class Value, class Handle>
Value read_handle(const Handle& handle) {
  Value value{};
  std::memcpy(&value, handle.bytes.data(), sizeof(value));
  return value;
}

void add_device(driver_functions& into) {
  into.init = [](unsigned int) { return cuda_result::success; };
  into.driver_get_version = [](int* version) { return *version = 13000, cuda_result::success; };
  into.get_error_string = [](cuda_result result, const char** text) {
    *text = result == cuda_result::out_of_memory ? "out of memory" : "another error";
    return cuda_result::success;
  };
  into.device_get_count = [](int* count) { return *count = 1, cuda_result::success; };
  into.device_get = [](int* device, int) { return *device = 7, cuda_result::success; };
  into.device_get_name = [](char* name, int, int) { return std::strcpy(name, "late"), cuda_result::success; };
  into.device_total_mem = [](std::size_t* bytes, int) { return *bytes = state().memory_bytes, cuda_result::success; };
  into.primary_context_retain = [](cuda_context* context, int) {
    ++state().contexts;
    return *context = reinterpret_cast<cuda_context>(&state()), cuda_result::success;
  };
  into.primary_context_release = [](int) { return --state().contexts, cuda_result::success; };
  into.context_set_current = [](cuda_context) { return cuda_result::success; };
}

void add_memory(driver_functions& into) {
  into.mem_alloc = [](cuda_address* address, std::size_t bytes) {
    void* made = nullptr;
    const cuda_result result = reserve(&made, bytes);
    return *address = reinterpret_cast<std::uintptr_t>(made), result;
  };
  into.mem_free = [](cuda_address address) { return give_back(std::bit_cast<void*>(std::uintptr_t{address})); };
  into.mem_get_info = [](std::size_t* free, std::size_t* total) {
    *total = state().memory_bytes;
    return *free = *total - state().used(), cuda_result::success;
  };
  into.mem_host_alloc = [](void** address, std::size_t bytes, unsigned int) { return reserve(address, bytes); };
  into.mem_free_host = &give_back;
  into.memcpy_async = [](cuda_address to, cuda_address from, std::size_t bytes, cuda_stream stream) {
    queue_of(stream).emplace_back([=] {
      std::memmove(std::bit_cast<void*>(std::uintptr_t{to}), std::bit_cast<void*>(std::uintptr_t{from}), bytes);
      return true;
    });
    return cuda_result::success;
  };
}

void add_streams(driver_functions& into) {
  into.stream_create = [](cuda_stream* stream, unsigned int) {
    auto made = std::make_shared<std::deque<late_step>>();
    *stream = reinterpret_cast<cuda_stream>(made.get());
    state().streams.emplace(made.get(), made);
    return ++state().live_streams, cuda_result::success;
  };
  // As the driver has it: what the stream was given is done after its end, too.
  into.stream_destroy = [](cuda_stream) { return --state().live_streams, cuda_result::success; };
  into.stream_wait_event = [](cuda_stream stream, cuda_event event, unsigned int) {
    queue_of(stream).emplace_back([waited = event_of(event)] { return waited->has_passed; });
    return cuda_result::success;
  };
  into.event_create = [](cuda_event* event, unsigned int) {
    return *event = handle_of(std::make_shared<late_event>()), cuda_result::success;
  };
  into.event_destroy = [](cuda_event event) {
    return state().events.erase(reinterpret_cast<std::uintptr_t>(event)), cuda_result::success;
  };
  into.event_record = [](cuda_event event, cuda_stream stream) {
    event_of(event)->has_passed = false;
    queue_of(stream).emplace_back([recorded = event_of(event)] { return recorded->has_passed = true; });
    return cuda_result::success;
  };
  into.event_query = [](cuda_event event) {
    return event_of(event)->has_passed ? cuda_result::success : cuda_result::not_ready;
  };
}

constexpr auto no_such_thing = static_cast<cuda_result>(1);

// What one process has, it opens as another one would.
void add_sharing(driver_functions& into) {
  into.device_can_access_peer = [](int* can, int, int) { return *can = 1, cuda_result::success; };
  into.mem_get_address_range = [](cuda_address* base, std::size_t* bytes, cuda_address within) {
    for (const auto& [begin, content] : state().memory) {
      *base = std::bit_cast<std::uintptr_t>(begin);
      *bytes = content->size();
      if (within >= *base && within - *base < *bytes) return cuda_result::success;
    }
    return no_such_thing;
  };
  into.ipc_get_mem_handle = [](cuda_memory_handle* handle, cuda_address address) {
    return write_handle(*handle, address), cuda_result::success;
  };
  into.ipc_open_mem_handle = [](cuda_address* address, cuda_memory_handle handle, unsigned int) {
    *address = read_handle<cuda_address>(handle);
    if (!state().memory.contains(std::bit_cast<void*>(std::uintptr_t{*address}))) return no_such_thing;
    return ++state().opened_memory, cuda_result::success;
  };
  into.ipc_close_mem_handle = [](cuda_address) { return --state().opened_memory, cuda_result::success; };
  into.ipc_get_event_handle = [](cuda_event_handle* handle, cuda_event event) {
    return write_handle(*handle, std::bit_cast<std::uintptr_t>(event)), cuda_result::success;
  };
  into.ipc_open_event_handle = [](cuda_event* event, cuda_event_handle handle) {
    const auto number = read_handle<std::uintptr_t>(handle);
    if (!state().events.contains(number)) return no_such_thing;
    return *event = handle_of(state().events.at(number)), cuda_result::success;
  };
}

}  // namespace

driver_functions late_driver(std::size_t memory_bytes) {
  state() = {};
  state().memory_bytes = memory_bytes;
  driver_functions made;
  add_device(made);
  add_memory(made);
  add_streams(made);
  add_sharing(made);
  return made;
}

void run_late_work() {
  bool is_moving = true;
  while (is_moving) {
    is_moving = false;
    for (auto& [handle, queue] : state().streams) {
      while (!queue->empty() && queue->front()()) {
        queue->pop_front();
        is_moving = true;
      }
    }
  }
}

std::size_t late_driver_handles() {
  return state().contexts + state().memory.size() + state().live_streams + state().events.size() +
         state().opened_memory;
}

}  // namespace troupe::testing
