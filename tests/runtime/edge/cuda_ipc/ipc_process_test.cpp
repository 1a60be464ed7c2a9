// Goal: tensors cross from one process to another in memory of a device, with the bits they had. Method: a forked child
// produces; this process copies what it views to its host memory and drops it at once. The same test runs on a late
// device, and on the first GPU where there is one.
#include <cstring>
#include <functional>

#include "../shm/shm_process_support.hpp"
#include "runtime/device/cuda_context.hpp"
#include "runtime/edge/cuda_ipc/ipc_transport.hpp"
#include "testing/nccl/late_device.hpp"

namespace troupe::testing {
namespace {

constexpr std::uint64_t messages = 60;
constexpr edge_options three_slots{.slots = 3};

/// Bytes on a device.
class device_bytes final : public payload {
 public:
  device_bytes(std::shared_ptr<const std::byte> place, std::size_t count) : memory(std::move(place)), bytes(count) {}
  const std::shared_ptr<const std::byte> memory;
  const std::size_t bytes;
};

class device_bytes_codec final : public device_codec {
 public:
  void check(const payload&) const override {}
  [[nodiscard]] device_parts split(const payload_ptr& value) const override {
    const auto& given = dynamic_cast<const device_bytes&>(*value);
    return {.description = {},
            .extents = {{given.bytes, nccl::element::uint8}},
            .places = {given.memory.get()},
            .owner = given.memory,
            .owners = {given.memory}};
  }
  [[nodiscard]] expected<void> matches(std::span<const std::byte>,
                                       std::span<const device_extent> extents) const override {
    if (extents.size() == 1) return {};
    return fail(error_code::wire_malformed, "test", "not one extent");
  }
  [[nodiscard]] expected<payload_ptr> join(std::span<const std::byte>, std::span<const device_extent> extents,
                                           std::span<std::byte* const> places,
                                           std::shared_ptr<const void> owner) const override {
    return std::make_shared<const device_bytes>(std::shared_ptr<const std::byte>(std::move(owner), places.front()),
                                                extents.front().count);
  }
};

/// Larger and smaller, so that the slots grow while they are in use.
std::size_t bytes_of_message(std::uint64_t index) {
  return 1 + index % 7 * 1000 + (index > messages / 2 ? 100'000 : 0);
}

using make_device = std::function<expected<std::shared_ptr<device_context>>()>;

/// One of the processes, made after the fork, as a driver's contexts do not survive one.
struct device_process {
  explicit device_process(const make_device& make) : device(get(make())), stream(get(device->make_stream())) {
    ipc_tools tools{.device = device,
                    .sharing = get(device->sharing()),
                    .codec = std::make_shared<const device_bytes_codec>(),
                    .readers = stream};
    const auto shared = std::make_shared<const ipc_tools>(std::move(tools));
    edges = ipc_transport::open([shared] { return shared; }, std::make_shared<const pattern_codec>());
  }
  void await_stream() const {
    const auto done = get(stream->record());
    while (!get(done->has_passed())) ::sched_yield();
  }
  [[nodiscard]] payload_ptr make_message(std::uint64_t index) const {
    const std::size_t bytes = bytes_of_message(index);
    const auto host = get(device->allocate_host(bytes));
    pattern(index, bytes).fill({host.get(), bytes});
    // Memory of whole pages is read where it is, other memory is copied.
    const auto made =
        index % 2 == 0 ? get(device->allocate(bytes)) : get(get(device->sharing())->allocate(3 * bytes)).memory;
    get(stream->copy(made.get(), host.get(), bytes));
    await_stream();
    return std::make_shared<const device_bytes>(made, bytes);
  }

  const std::shared_ptr<device_context> device;
  const std::shared_ptr<context_stream> stream;
  std::shared_ptr<ipc_transport> edges;
};

edge_site site_of(const blob& memory) {
  return {.epoch = 1, .channel = 0, .shape = three_slots, .offer = {.memory = memory}};
}

bool produce(const make_device& make, const blob& memory) {
  const device_process me(make);
  const auto out = get(me.edges->open_producer(site_of(memory)));
  for (std::uint64_t index = 0; index < messages; ++index) {
    activation next{{0, index}, {index, index + 1}, me.make_message(index), nullptr};
    while (out->try_send(next) == send_status::no_credit) ::sched_yield();
  }
  out->close();
  while (out->credits() != out->slots()) ::sched_yield();
  return true;
}

void consume(const make_device& make, const blob& memory) {
  const device_process me(make);
  const auto in = get(me.edges->open_consumer(site_of(memory)));
  std::vector<std::shared_ptr<std::byte>> read;
  while (!in->exhausted()) {
    const auto got = in->try_receive();
    if (!got) continue;
    const auto& seen = dynamic_cast<const device_bytes&>(*got->tensors);
    ASSERT_EQ(seen.bytes, bytes_of_message(read.size()));
    read.push_back(get(me.device->allocate_host(seen.bytes)));
    get(me.stream->copy(read.back().get(), seen.memory.get(), seen.bytes));
    in->release();
  }
  me.await_stream();
  ASSERT_EQ(read.size(), messages);
  for (std::uint64_t index = 0; index < messages; ++index) {
    const std::size_t bytes = bytes_of_message(index);
    std::vector<std::byte> right(bytes);
    pattern(index, bytes).fill(right);
    ASSERT_EQ(std::memcmp(read[index].get(), right.data(), bytes), 0) << "message " << index;
  }
}

void pass_between_processes(const make_device& make) {
  const blob memory(std::move(*create_shm_edge({.slots = three_slots.slots})));
  child producer([&] { return produce(make, memory); });
  ASSERT_NO_FATAL_FAILURE(consume(make, memory));
  EXPECT_TRUE(producer.succeeded());
}

TEST(ipc_process, passes_memory_of_a_late_device) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
#endif
  pass_between_processes([] { return std::make_shared<late_device>(); });
}

TEST(ipc_process, passes_memory_of_a_gpu) {
  if (::access("/dev/nvidiactl", F_OK) != 0) GTEST_SKIP() << "no GPU on this machine";
  pass_between_processes([] {
    return cuda_driver::load().and_then([](const cuda_driver& driver) { return cuda_context_of(driver, 0); });
  });
}

}  // namespace
}  // namespace troupe::testing
