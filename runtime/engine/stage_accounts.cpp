#include "runtime/engine/stage_accounts.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"

namespace troupe {
namespace {

stage_usage read(const stage_counters& counters) {
  return {counters.micro_batches.load(std::memory_order_relaxed), counters.samples.load(std::memory_order_relaxed),
          counters.forward_ns.load(std::memory_order_relaxed), counters.busy_ns.load(std::memory_order_relaxed)};
}

}  // namespace

std::size_t stage_accounts::position_of(stage_address at) const {
  const auto found = std::ranges::find(owners_, at, &owner::address);
  TROUPE_CHECK(found != owners_.end(), "every stage of the plan has an account");
  return static_cast<std::size_t>(found - owners_.begin());
}

const stage_accounts::owner& stage_accounts::at(stage_address address) const {
  return owners_[position_of(address)];
}

void stage_accounts::add(stage_address at, std::shared_ptr<const engine_page> page) {
  const std::size_t position = position_of(at);
  const std::lock_guard lock{mutex_};
  living_[position] = page;
  pages_[position].push_back(std::move(page));
}

void stage_accounts::end(stage_address at) {
  const std::size_t position = position_of(at);
  const std::lock_guard lock{mutex_};
  living_[position] = nullptr;
}

std::vector<std::shared_ptr<const engine_page>> stage_accounts::living() const {
  const std::lock_guard lock{mutex_};
  return living_;
}

std::vector<stage_usage> stage_accounts::usage() const {
  const std::lock_guard lock{mutex_};
  std::vector<stage_usage> all;
  for (const auto& pages : pages_) {
    stage_usage& sum = all.emplace_back();
    for (const auto& page : pages) {
      const stage_usage one = read(page->counters);
      sum.micro_batches += one.micro_batches;
      sum.samples += one.samples;
      sum.forward_ns += one.forward_ns;
      sum.busy_ns += one.busy_ns;
    }
  }
  return all;
}

}  // namespace troupe
