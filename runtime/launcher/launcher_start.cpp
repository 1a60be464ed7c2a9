// The part of launcher_loop until its driver runs.
#include <array>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/launch/launch_environment.hpp"
#include "runtime/launcher/driver_process.hpp"
#include "runtime/launcher/join_file_agents.hpp"
#include "runtime/launcher/launcher_loop.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/resource_check.hpp"
#include <troupe/log_record.hpp>

namespace troupe {
namespace {

constexpr int driver_channel_number = 3;

tl::unexpected<error> no_launch_resources(const char* call) {
  return fail(error_code::process_failed, "troupe launch", std::string(call) + ": " + errno_text(),
              "raise the limit of open files (ulimit -n)");
}

/// A copy for the driver.
bool copy_descriptor(int from, unique_fd& to) {
  to.reset(::fcntl(from, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  return static_cast<bool>(to);
}

bool lend_standard_descriptors(spawn_request& request) {
  const bool reads_terminal = ::isatty(STDIN_FILENO) == 1;
  return (reads_terminal || copy_descriptor(STDIN_FILENO, request.standard_input)) &&
         copy_descriptor(STDOUT_FILENO, request.standard_output) &&
         copy_descriptor(STDERR_FILENO, request.standard_error);
}

/// Descriptors of one ssh: its input, both outputs, a pidfd.
constexpr std::size_t descriptors_per_agent = 4;
constexpr std::size_t descriptors_of_launcher = 32;

std::size_t descriptors_for(const launch_request& request) {
  const bool uses_ssh = std::holds_alternative<ssh_options>(request.agents);
  return descriptors_of_launcher + (uses_ssh ? descriptors_per_agent * request.setup.nodes.size() : 0);
}

}  // namespace

expected<std::unique_ptr<launcher_loop>> launcher_loop::make(launch_request request) {
  TROUPE_TRY(ensure_resources({.where = "troupe launch", .threads = 2, .descriptors = descriptors_for(request)}));
  auto signals = TROUPE_TRY(stop_signals::make());
  auto ends = TROUPE_TRY(launcher_channel::make());
  unique_fd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return no_launch_resources("eventfd");
  std::unique_ptr<launcher_loop> made(
      new launcher_loop(std::move(request), std::move(signals), std::move(ends.first), std::move(bell)));
  return made->prepare(std::move(ends.second)).map([&] { return std::move(made); });
}

launcher_loop::~launcher_loop() = default;

expected<void> launcher_loop::prepare(unique_fd driver_end) {
  auto host = TROUPE_TRY(process_host::create());
  driver_ = std::make_shared<driver_process>([this] { ring(); });
  host_ = std::move(host);
  make_agents();
  TROUPE_TRY(channel_.send(request_.setup));
  return start_driver(std::move(driver_end)).map([this] {
    for (std::size_t node = 0; node < request_.setup.nodes.size(); ++node) {
      if (node != request_.setup.driver_node) agents_->expect(request_.setup.nodes[node].name);
    }
  });
}

void launcher_loop::make_agents() {
  if (auto* files = std::get_if<join_files>(&request_.agents)) {
    agents_ = std::make_unique<join_file_agents>(std::move(*files));
    return;
  }
  const auto on_line = [say = request_.say, driver = driver_](const std::string& node, std::string_view line) {
    driver->on_line_of_another();
    say(to_string(log_record{.text = std::string(line), .stage = node}) + "\n");
  };
  agents_ = std::make_unique<ssh_agents>(*host_, std::move(std::get<ssh_options>(request_.agents)),
                                         ssh_listener{on_line, [this] { ring(); }});
}

expected<void> launcher_loop::start_driver(unique_fd driver_end) {
  spawn_request request;
  request.name = request_.command.front();
  request.program = request_.command.front();
  request.arguments = request_.command;
  // as its workers have them, which must describe the same run
  request.environment = request_.setup.environment;
  request.environment.emplace_back(launch_variable, encode(launch_environment{driver_channel_number}));
  request.fds.push_back({std::move(driver_end), driver_channel_number});
  if (!lend_standard_descriptors(request)) return no_launch_resources("dup");
  driver_id_ = TROUPE_TRY(host_->start(std::move(request), driver_));
  return {};
}

}  // namespace troupe
