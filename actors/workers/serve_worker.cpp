#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include <unistd.h>

#include <troupe/actors/secure/secure_config.hpp>
#include <troupe/actors/secure/secure_link.hpp>
#include <troupe/actors/workers/serve_worker.hpp>
#include <troupe/actors/workers/worker_face.hpp>
#include <troupe/messages/limits.hpp>
#include <troupe/runtime/process/memory_file.hpp>

namespace troupe {
namespace {

std::string read_token(int descriptor) {
  std::ifstream file(memory_file::path_of(descriptor), std::ios::binary);
  std::string text;
  file >> text;
  return text;
}

/// The process may end at any point of it.
void prepare_when_idle(std::function<void()> prepare) {
  if (!prepare) return;
  std::thread([prepare = std::move(prepare)] {
    std::this_thread::sleep_for(limits::worker_idle_before_preparing);
    prepare();
  }).detach();
}

}  // namespace

void serve_worker(const worker_environment& environment, worker_description description) {
  auto channel = fd_channel::adopt(unique_fd(environment.channel), ::getppid());
  if (!channel) end_worker(channel.error());
  descriptor_box descriptors(std::move(*channel));

  secure_config config({memory_file::path_of(environment.ca_certificate), memory_file::path_of(environment.certificate),
                        memory_file::path_of(environment.key)},
                       {description.silence_timeout});
  caf::actor_system system{config};
  const auto driver = connect_on_loopback(system, environment.port);
  if (!driver) end_worker(driver.error());
  std::shared_ptr<tcp_ends> tcp;
  if (description.tcp_edges) {
    auto opened = tcp_ends::open(description.codec, description.payload_crc);
    if (!opened) end_worker(opened.error());
    tcp = std::move(*opened);
  }
  prepare_when_idle(description.prepare);
  system.spawn(worker_face,
               std::make_shared<worker_body>(std::move(description), descriptors, read_token(environment.token), tcp),
               *driver);
  // The driver's end closes when the driver does, at the latest: the orderly end is a SIGTERM before that.
  const auto received = descriptors.receive_all();
  if (!received) end_worker(received.error());
  std::_Exit(0);
}

}  // namespace troupe
