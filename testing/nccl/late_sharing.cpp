#include "testing/nccl/late_sharing.hpp"

#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/os/shared_memory.hpp"
#include "testing/nccl/late_device.hpp"

namespace troupe::testing {
namespace {

constexpr int late_block_byte = 0xEE;

enum class kind : std::uint64_t { memory = 0x4D, event = 0x45 };

/// The content of a handle.
struct name_of_file {
  kind what;
  std::int64_t process;
  std::int64_t descriptor;
  std::uint64_t file;
  std::array<std::uint64_t, 4> unused{};
};
static_assert(sizeof(name_of_file) == sizeof(sharing_handle));

/// A memory file that is mapped whole; the maker keeps the descriptor open.
struct mapped_file {
  shared_memory file;
  memory_mapping pages;
};
using file_ptr = std::shared_ptr<const mapped_file>;

tl::unexpected<error> refused(std::string why) {
  return fail(error_code::device_failed, "late device", std::move(why));
}

expected<file_ptr> map_whole(shared_memory file) {
  return file.size().and_then([&](std::uint64_t bytes) { return file.map(0, bytes); }).map([&](memory_mapping&& pages) {
    return std::make_shared<const mapped_file>(mapped_file{std::move(file), std::move(pages)});
  });
}

std::uint64_t number_of(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? status.st_ino : 0;
}

sharing_handle handle_of(kind what, const mapped_file& made) {
  const int descriptor = made.file.descriptor();
  return std::bit_cast<sharing_handle>(name_of_file{what, ::getpid(), descriptor, number_of(descriptor)});
}

expected<file_ptr> open_file(kind what, const sharing_handle& handle) {
  const auto name = std::bit_cast<name_of_file>(handle);
  if (name.what != what) return refused("the handle is of something else");
  const std::string path = "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
  unique_fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file || number_of(file.get()) != name.file) return refused("the handle opens nothing");
  return shared_memory::adopt(std::move(file), 1).and_then(map_whole);
}

struct event_words {
  std::atomic<std::uint64_t> recorded;
  std::atomic<std::uint64_t> passed;
};

class late_shared_event final : public shared_event, public late_waitable {
 public:
  late_shared_event(file_ptr file, const sharing_handle& handle) : file_(std::move(file)), handle_(handle) {}

  expected<bool> has_passed() override { return words().passed.load() >= words().recorded.load(); }
  expected<void> record_on(context_stream& stream) override {
    const std::uint64_t number = ++words().recorded;
    late_work::of(stream.handle()).enqueue([file = file_, number] { words_of(*file).passed.store(number); });
    return {};
  }
  [[nodiscard]] const sharing_handle& handle() const noexcept override { return handle_; }
  // Another process rings no bell.
  [[nodiscard]] std::function<void()> waiting() const override {
    return [file = file_, number = words().recorded.load()] {
      while (words_of(*file).passed.load() < number) std::this_thread::yield();
    };
  }

 private:
  static event_words& words_of(const mapped_file& file) {
    return *reinterpret_cast<event_words*>(file.pages.bytes().data());
  }
  [[nodiscard]] event_words& words() const { return words_of(*file_); }

  const file_ptr file_;
  const sharing_handle handle_;
};

struct shared_blocks {
  struct block {
    std::uint64_t bytes;
    sharing_handle handle;
  };
  std::mutex guard;
  std::map<const std::byte*, block> by_base;

  static shared_blocks& all() {
    static shared_blocks one;
    return one;
  }
  void keep(shared_block& made) {
    const std::lock_guard lock{guard};
    by_base[made.memory.get()] = {made.bytes, made.handle};
    made.memory = {made.memory.get(), [kept = made.memory](const std::byte* base) {
                     const std::lock_guard gone{all().guard};
                     all().by_base.erase(base);
                   }};
  }
  expected<std::pair<const std::byte*, block>> with(const std::byte* at) {
    const std::lock_guard lock{guard};
    auto found = by_base.upper_bound(at);
    if (found == by_base.begin()) return refused("it is no shared memory");
    --found;
    if (static_cast<std::uint64_t>(at - found->first) >= found->second.bytes) return refused("it is no shared memory");
    return *found;
  }
};

class late_sharing final : public device_sharing {
 public:
  expected<shared_block> allocate(std::size_t bytes) override {
    constexpr std::uint64_t unit = 4096;
    return shared_memory::create("late-device", (bytes / unit + 1) * unit)
        .and_then(map_whole)
        .map([](const file_ptr& made) {
          std::memset(made->pages.bytes().data(), late_block_byte, made->pages.bytes().size());
          shared_block block = block_of(made, handle_of(kind::memory, *made));
          shared_blocks::all().keep(block);
          return block;
        });
  }
  expected<device_allocation> allocation_of(const std::byte* at) override {
    return shared_blocks::all().with(at).map([](const auto& found) {
      return device_allocation{found.first, found.second.bytes};
    });
  }
  expected<sharing_handle> share(const std::byte* base) override {
    return shared_blocks::all().with(base).map([](const auto& found) { return found.second.handle; });
  }
  expected<std::unique_ptr<shared_event>> make_event() override {
    return shared_memory::create("late-event", sizeof(event_words))
        .and_then(map_whole)
        .map([](const file_ptr& made) -> std::unique_ptr<shared_event> {
          return std::make_unique<late_shared_event>(made, handle_of(kind::event, *made));
        });
  }
  expected<shared_block> open_memory(const sharing_handle& handle) override {
    return open_file(kind::memory, handle).map([&](const file_ptr& opened) { return block_of(opened, handle); });
  }
  expected<std::shared_ptr<context_event>> open_event(const sharing_handle& handle) override {
    return open_file(kind::event, handle).map([&](const file_ptr& opened) -> std::shared_ptr<context_event> {
      return std::make_shared<late_shared_event>(opened, handle);
    });
  }

 private:
  static shared_block block_of(const file_ptr& file, const sharing_handle& handle) {
    const auto pages = file->pages.bytes();
    return {.memory = {file, pages.data()}, .bytes = pages.size(), .handle = handle};
  }
};

}  // namespace

std::shared_ptr<device_sharing> make_late_sharing() {
  return std::make_shared<late_sharing>();
}

}  // namespace troupe::testing
