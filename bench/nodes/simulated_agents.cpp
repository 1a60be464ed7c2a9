#include "simulated_agents.hpp"

#include <chrono>
#include <utility>

#include <unistd.h>

#include "formation.hpp"
#include "messages/agent.hpp"
#include "messages/codec/codec.hpp"
#include "messages/limits.hpp"
#include "messages/version.hpp"
#include "runtime/join/join_job.hpp"

namespace troupe::bench {

simulated_agents::simulated_agents() : loop_(must(link_loop::create({}))) {}

simulated_agents::~simulated_agents() {
  for (std::thread& each : threads_) each.join();
}

void simulated_agents::start(std::string ticket) {
  threads_.emplace_back([this, ticket = std::move(ticket)] { join(ticket); });
}

std::vector<std::string> simulated_agents::failures() {
  const std::lock_guard lock{mutex_};
  return failures_;
}

void simulated_agents::note(const error& why) {
  const std::lock_guard lock{mutex_};
  failures_.push_back(to_string(why));
}

void simulated_agents::join(const std::string& ticket) {
  const auto linked =
      parse_join_ticket(ticket)
          .and_then([](const join_ticket& one) { return join_job(one, version_text(), std::chrono::minutes(5)); })
          .and_then([&](const joined_node& node) { return loop_->dial(node.address, node.port, node.credentials); });
  if (!linked) return note(linked.error());
  answer(*linked);
}

void simulated_agents::answer(const std::shared_ptr<message_link>& link) {
  link->start({.on_message =
                   [to = std::weak_ptr(link)](const codec::bytes&) {
                     auto said = codec::encode(agent_ready{static_cast<std::uint32_t>(::getpid())});
                     const auto there = to.lock();
                     if (said && there) there->send(std::move(*said));
                   },
               .on_lost = [this](const error& why) { note(why); }});
}

}  // namespace troupe::bench
