#include "runtime/join/find_nodes.hpp"

#include <algorithm>
#include <future>
#include <list>
#include <thread>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/join/host_resolver.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

void resolve_all(std::list<host_resolver>& names, expected_addresses& found, steady_clock::time_point until) {
  while (!names.empty() && steady_clock::now() < until) {
    std::erase_if(names, [&](host_resolver& each) {
      const auto addresses = each.find(std::min(until, steady_clock::now() + limits::join_attempt_timeout));
      if (!addresses) return false;
      for (const std::string& one : *addresses) found.add(one);
      return true;
    });
    if (!names.empty()) std::this_thread::sleep_until(std::min(until, steady_clock::now() + limits::join_retry_max));
  }
}

}  // namespace

expected<void> find_nodes(const std::vector<std::string>& nodes, const std::shared_ptr<expected_addresses>& found,
                          steady_clock::time_point until, std::chrono::milliseconds wait) {
  std::list<host_resolver> names;
  for (const std::string& each : nodes) {
    if (!found->add(each)) names.emplace_back(each);
  }
  if (names.empty()) return {};
  auto done = std::make_shared<std::promise<void>>();
  const auto is_done = done->get_future();
  auto thread = TROUPE_TRY(start_thread("resolver", [names = std::move(names), found, until, done]() mutable {
    resolve_all(names, *found, until);
    done->set_value();
  }));
  thread.detach();
  static_cast<void>(is_done.wait_for(wait));
  return {};
}

}  // namespace troupe
