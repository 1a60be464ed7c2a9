// run_launch() as a program: launch_program GRACE_MS NODES SSH_WORD... -- COMMAND...; the driver is on w0.
// "files" and a prefix in place of words of ssh: agents find join files.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sstream>

#include "runtime/launcher/join_files.hpp"
#include "runtime/launcher/launcher.hpp"

int main(int argc, char** argv) {
  using namespace troupe;
  const std::vector<std::string> given(argv + 1, argv + argc);
  std::signal(SIGPIPE, SIG_IGN);
  const auto end_of_ssh = std::ranges::find(given, "--");
  launch_request request;
  request.setup.grace = std::chrono::milliseconds(std::atoi(given.at(0).c_str()));
  request.setup.addresses = {"127.0.0.1"};
  request.setup.environment = {{"FOR_ALL_NODES", "and for the driver"}};
  std::istringstream names(given.at(1));
  for (std::string name; std::getline(names, name, ',');) request.setup.nodes.push_back({name, {0}});
  if (request.setup.nodes.front().name == "w0") request.setup.driver_node = 0;
  if (given.at(2) == "files") {
    const std::vector<node_slots> others(request.setup.nodes.begin() + 1, request.setup.nodes.end());
    std::vector<std::uint32_t> ranks(others.size());
    std::iota(ranks.begin(), ranks.end(), 1);
    request.agents = std::move(*join_files::make(given.at(3), others, ranks));
  }
  ssh_options ssh;
  ssh.command.assign(given.begin() + 2, end_of_ssh);
  ssh.agent = "/the agent's/troupe-agent";
  ssh.directory = "/the working/directory";
  ssh.retry_until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  if (given.at(2) != "files") request.agents = std::move(ssh);
  request.command.assign(end_of_ssh + 1, given.end());
  request.say = [](const std::string& text) { std::fputs(text.c_str(), stderr); };
  const auto end = run_launch(std::move(request));
  if (!end) {
    std::fprintf(stderr, "%s\n", to_string(end.error()).c_str());
    return 99;
  }
  if (end->why) std::fprintf(stderr, "%s\n", to_string(*end->why).c_str());
  return end->status;
}
