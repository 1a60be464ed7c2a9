// The other process of the link tests: does one thing, named by its first argument.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <caf/io/middleman.hpp>
#include <caf/io/publish.hpp>
#include <unistd.h>

#include <troupe/actors/secure/secure_config.hpp>
#include <troupe/actors/secure/secure_link.hpp>
#include <troupe/runtime/process/memory_file.hpp>

namespace {

using namespace troupe;

bool says(const wire_message& message, std::string_view text) {
  return std::string_view(reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size()) == text;
}

/// Burns all cores of the machine until the process ends.
void spin_everywhere() {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < cores; ++i) {
    std::thread([] {
      for (std::atomic<std::uint64_t> count{0};; ++count) {
      }
    }).detach();
  }
}

/// Answers whatever comes, until it is told "exit" or the driver is lost.
wire_actor::behavior_type echo(wire_actor::pointer self, const wire_actor& driver, std::promise<int>* ended) {
  self->monitor(driver);
  self->set_down_handler([self, ended](const caf::down_msg&) {
    ended->set_value(3);
    self->quit();
  });
  self->send(driver, wire_message{{'h', 'i'}});
  return {[self, driver, ended](const wire_message& message) {
    if (says(message, "spin")) spin_everywhere();
    if (says(message, "exit")) {
      ended->set_value(0);
      self->quit();
    }
    self->send(driver, message);
  }};
}

int run_echo(const std::vector<std::string>& given) {
  const liveness times{std::chrono::milliseconds(std::stoi(given.at(2)))};
  secure_config config({memory_file::path_of(3), memory_file::path_of(4), memory_file::path_of(5)}, times);
  caf::actor_system system{config};
  auto driver = connect_on_loopback(system, static_cast<std::uint16_t>(std::stoi(given.at(1))));
  if (!driver) {
    std::fprintf(stderr, "%s\n", to_string(driver.error()).c_str());
    return 2;
  }
  std::promise<int> ended;
  system.spawn(echo, *driver, &ended);
  *driver = nullptr;
  return ended.get_future().get();
}

/// CAF's network as it is, for the attacks that must kill it.
int run_plain(const std::vector<std::string>&) {
  caf::actor_system_config config;
  config.load<caf::io::middleman>();
  caf::actor_system system{config};
  const caf::actor idle =
      system.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](const std::string&) {}}; });
  const auto port = caf::io::publish(idle, 0, "127.0.0.1");
  std::printf("%d %d\n", port ? *port : 0, ::getpid());
  std::fflush(stdout);
  while (true) ::pause();
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> given(arguments + 1, arguments + count);
  return given.at(0) == "plain" ? run_plain(given) : run_echo(given);
}
