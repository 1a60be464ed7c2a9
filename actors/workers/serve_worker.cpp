#include "actors/workers/serve_worker.hpp"

#include <cstdlib>
#include <thread>
#include <utility>

#include <linux/close_range.h>
#include <sys/socket.h>
#include <unistd.h>

#include "actors/actor_config.hpp"
#include "actors/engine_threads.hpp"
#include "actors/workers/descriptor_box.hpp"
#include "actors/workers/resource_needs.hpp"
#include "actors/workers/worker_actor.hpp"
#include "messages/limits.hpp"
#include "runtime/link/numbered_link.hpp"
#include "runtime/os/resource_check.hpp"
#include "runtime/os/start_thread.hpp"
#include "runtime/process/adopt_socket.hpp"
#include "runtime/telemetry/shared_page.hpp"

namespace troupe {
namespace {

/// Sets close-on-exec for all descriptors but the standard ones, also where a library has not; those that are opened
/// later have it. Programs that a stage starts must not inherit connections, which would stay open as long as these
/// programs.
void close_all_in_exec() {
  static_cast<void>(::close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC));
}

class this_process final : public worker_process {
 public:
  this_process(descriptor_box& descriptors, bool stages_spin) : descriptors_(descriptors), threads_(stages_spin) {}
  [[nodiscard]] std::uint32_t pid() const override { return static_cast<std::uint32_t>(::getpid()); }
  [[nodiscard]] expected<void> ensure_threads(std::uint32_t threads) override {
    return ensure_resources(needs_of_stage(threads));
  }
  [[nodiscard]] expected<std::vector<unique_fd>> take(const std::string& tag, std::size_t count) override {
    return descriptors_.take(tag, count);
  }
  [[nodiscard]] expected<std::shared_ptr<engine_page>> take_page(const std::string& tag) override {
    return descriptors_.take(tag, 1)
        .and_then([](std::vector<unique_fd>&& fds) { return shared_page::adopt(std::move(fds.front())); })
        .map([](shared_page&& adopted) { return adopted.page(); });
  }
  [[nodiscard]] engine_host& engines() override { return threads_; }
  [[noreturn]] void end(const error& cause) override { end_worker(cause); }

 private:
  descriptor_box& descriptors_;
  engine_threads threads_;
};

/// The process may end while it prepares. If there is no room for the threads, the worker does not prepare: it works
/// all the same, and only becomes a stage later.
void prepare_when_idle(std::function<void()> prepare) {
  if (!prepare) return;
  auto thread = start_thread("spare worker", [prepare = std::move(prepare)] {
    std::this_thread::sleep_for(limits::worker_idle_before_preparing);
    if (ensure_resources(needs_of_preparing())) prepare();
  });
  if (thread) thread->detach();
}

}  // namespace

void serve_worker(const worker_environment& environment, worker_description description) {
  if (auto room = ensure_resources(needs_of_worker(description)); !room) end_worker(room.error());
  auto channel = fd_channel::adopt(unique_fd(environment.channel), ::getppid());
  if (!channel) end_worker(channel.error());
  descriptor_box descriptors(std::move(*channel));
  auto link = adopt_socket(unique_fd(environment.link), SOCK_STREAM, ::getppid(), "control plane");
  if (!link) end_worker(link.error());
  const auto links = link_loop::create({description.silence_timeout});
  if (!links) end_worker(links.error());
  const auto to_driver = number_messages((*links)->open(std::move(*link), link_side::worker));

  actor_config config;
  caf::actor_system system{config};
  auto edges = description.edges->between({.codec = description.codec,
                                           .payload_crc = description.payload_crc,
                                           .network = description.network,
                                           .silence = description.silence_timeout,
                                           .devices = description.devices});
  if (!edges) end_worker(edges.error());
  this_process process(descriptors, !(*edges)->has_thread());
  close_all_in_exec();
  prepare_when_idle(description.prepare);
  const worker_actor_type worker = system.spawn(
      worker_actor,
      std::make_shared<worker_body>(worker_body{std::move(description), process, std::move(*edges), to_driver}));
  to_driver->start({.on_message = [worker](codec::bytes message) { post(worker, from_driver{std::move(message)}); },
                    .on_lost =
                        [](const error& why) {
                          end_worker({why.code, "worker", "its driver is gone: " + why.cause, why.fix});
                        }});
  // The driver's end closes when the driver does, at the latest: the orderly end is a SIGTERM before that.
  const auto received = descriptors.receive_all();
  if (!received) end_worker(received.error());
  std::_Exit(0);
}

}  // namespace troupe
