#include "testing/nccl/late_device.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "messages/limits.hpp"
#include "testing/nccl/late_sharing.hpp"

namespace troupe::testing {
namespace {

constexpr std::byte nonsense_byte{0xEE};
/// Larger ones are in two extents.
constexpr std::uint64_t one_extent_max = 4096;

struct alignas(limits::payload_alignment) memory_block {
  std::byte bytes[limits::payload_alignment];
};

std::shared_ptr<std::byte> make_memory(std::uint64_t bytes) {
  const std::size_t blocks = bytes / sizeof(memory_block) + 1;
  const std::shared_ptr<memory_block[]> made(new memory_block[blocks]);
  std::memset(made.get(), std::to_integer<int>(nonsense_byte), blocks * sizeof(memory_block));
  return {made, made[0].bytes};
}

class late_event final : public context_event, public late_waitable {
 public:
  explicit late_event(std::shared_ptr<const std::atomic<bool>> passed) : passed_(std::move(passed)) {}
  expected<bool> has_passed() override { return passed_->load(std::memory_order_acquire); }
  [[nodiscard]] std::function<void()> waiting() const override {
    return [passed = passed_] { passed->wait(false); };
  }

 private:
  const std::shared_ptr<const std::atomic<bool>> passed_;
};

class late_stream final : public context_stream {
 public:
  explicit late_stream(std::shared_ptr<late_work> work) : work_(std::move(work)) {}
  ~late_stream() override { work_->stop(); }
  cuda_stream handle() noexcept override { return work_->handle(); }
  expected<void> copy(std::byte* into, const std::byte* from, std::size_t bytes) override {
    work_->enqueue([into, from, bytes] { std::memcpy(into, from, bytes); });
    return {};
  }
  expected<std::shared_ptr<context_event>> record() override {
    auto passed = std::make_shared<std::atomic<bool>>(false);
    work_->enqueue([passed] {
      passed->store(true, std::memory_order_release);
      passed->notify_all();
    });
    return std::make_shared<late_event>(std::move(passed));
  }
  expected<void> wait_for(const context_event& event) override {
    work_->enqueue(dynamic_cast<const late_waitable&>(event).waiting());
    return {};
  }

 private:
  const std::shared_ptr<late_work> work_;
};

std::vector<device_extent> extents_of(std::uint64_t bytes) {
  if (bytes == 0) return {};
  if (bytes <= one_extent_max) return {{.count = bytes, .type = nccl::element::uint8}};
  const std::uint64_t whole = bytes / limits::payload_alignment * limits::payload_alignment;
  std::vector<device_extent> made{{.count = whole / 8, .type = nccl::element::uint64}};
  if (whole < bytes) made.push_back({.count = bytes - whole, .type = nccl::element::uint8});
  return made;
}

}  // namespace

std::shared_ptr<late_work> late_work::start(bool is_held) {
  auto made = std::make_shared<late_work>();
  made->is_held_ = is_held;
  std::thread([made] { made->run(); }).detach();
  return made;
}

void late_work::enqueue(std::function<void()> what) {
  const std::scoped_lock lock(guard_);
  queue_.push_back(std::move(what));
  news_.notify_one();
}

void late_work::stop() {
  const std::scoped_lock lock(guard_);
  is_stopped_ = true;
  queue_.clear();
  news_.notify_one();
}

void late_work::hold(bool is_held) {
  const std::scoped_lock lock(guard_);
  is_held_ = is_held;
  news_.notify_one();
}

bool late_work::is_idle() {
  const std::scoped_lock lock(guard_);
  return queue_.empty() && !is_working_;
}

void late_work::run() {
  std::unique_lock lock(guard_);
  for (;;) {
    is_working_ = false;
    news_.wait(lock, [this] { return is_stopped_ || (!queue_.empty() && !is_held_); });
    if (queue_.empty()) return;
    auto next = std::move(queue_.front());
    queue_.pop_front();
    is_working_ = true;
    lock.unlock();
    next();
    next = nullptr;
    lock.lock();
  }
}

expected<std::shared_ptr<std::byte>> late_device::allocate(std::size_t bytes) {
  allocated_ += bytes;
  return make_memory(bytes);
}

expected<std::unique_ptr<context_stream>> late_device::make_stream() {
  const std::scoped_lock lock(guard_);
  auto work = late_work::start(is_held_);
  std::erase_if(streams_, [](const auto& each) { return each.expired(); });
  streams_.push_back(work);
  return std::make_unique<late_stream>(std::move(work));
}

expected<std::shared_ptr<device_sharing>> late_device::sharing() {
  return make_late_sharing();
}

void late_device::hold(bool is_held) {
  const std::scoped_lock lock(guard_);
  is_held_ = is_held;
  for (const auto& each : streams_) {
    if (const auto work = each.lock()) work->hold(is_held);
  }
}

bool late_device::is_idle() {
  const std::scoped_lock lock(guard_);
  return std::ranges::all_of(streams_, [](const auto& each) {
    const auto work = each.lock();
    return work == nullptr || work->is_idle();
  });
}

device_parts late_device_codec::split(const payload_ptr& value) const {
  const std::uint64_t bytes = bytes_->size_of(*value);
  const auto memory = make_memory(bytes);
  bytes_->write(*value, {memory.get(), static_cast<std::size_t>(bytes)});
  device_parts made{.description = std::vector<std::byte>(sizeof(bytes)),
                    .extents = extents_of(bytes),
                    .places = {},
                    .owner = memory,
                    .owners = {}};
  std::memcpy(made.description.data(), &bytes, sizeof(bytes));
  const std::byte* at = memory.get();
  for (const device_extent& each : made.extents) {
    made.places.push_back(at);
    made.owners.push_back(memory);
    at += each.count * bytes_of(each.type);
  }
  return made;
}

expected<void> late_device_codec::matches(std::span<const std::byte> description,
                                          std::span<const device_extent> extents) const {
  std::uint64_t bytes = 0;
  if (description.size() != sizeof(bytes)) return fail(error_code::wire_malformed, "stand-in", "no description");
  std::memcpy(&bytes, description.data(), sizeof(bytes));
  if (!std::ranges::equal(extents_of(bytes), extents))
    return fail(error_code::wire_malformed, "stand-in", "the extents are not those of the description");
  return {};
}

expected<payload_ptr> late_device_codec::join(std::span<const std::byte> description, std::span<const device_extent>,
                                              std::span<std::byte* const> places,
                                              std::shared_ptr<const void> owner) const {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, description.data(), sizeof(bytes));
  alignas(limits::payload_alignment) static std::byte nothing{};
  const std::byte* const from = places.empty() ? &nothing : places.front();
  return bytes_->read({from, static_cast<std::size_t>(bytes)}, std::move(owner));
}

}  // namespace troupe::testing
