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

#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "actors/link/control_link.hpp"
#include "actors/link/link_config.hpp"
#include "actors/link/waiting_link.hpp"
#include "runtime/process/adopt_socket.hpp"

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

constexpr int link_number = 3;

int run_echo(const std::vector<std::string>& given) {
  auto link = adopt_socket(unique_fd(link_number), SOCK_STREAM, ::getppid(), "link");
  if (!link || !greet_driver(*link)) return 2;
  link_config config({std::chrono::milliseconds(std::stoi(given.at(1)))});
  caf::actor_system system{config};
  auto driver = join_driver(system, std::move(*link));
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
int run_plain() {
  caf::actor_system_config config;
  config.add_message_types<caf::id_block::troupe_wire>();
  config.load<caf::io::middleman>();
  caf::actor_system system{config};
  const wire_actor idle =
      system.spawn([](wire_actor::pointer) -> wire_actor::behavior_type { return {[](const wire_message&) {}}; });
  post(basp_of(system), caf::publish_atom_v, system.middleman().backend().new_scribe(link_number), std::uint16_t{1},
       caf::actor_cast<caf::strong_actor_ptr>(idle), system.message_types(idle));
  std::printf("%d\n", ::getpid());
  std::fflush(stdout);
  while (true) ::pause();
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> given(arguments + 1, arguments + count);
  return given.at(0) == "plain" ? run_plain() : run_echo(given);
}
