#include "runtime/telemetry/stage_accounts.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"

namespace troupe {
namespace {

void add_to(stage_usage& sum, const stage_telemetry& one) {
  sum.micro_batches += one.micro_batches;
  sum.samples += one.samples;
  sum.forward_ns += one.forward_ns;
  sum.busy_ns += one.busy_ns;
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

void stage_accounts::add(stage_address at, telemetry_source source) {
  const std::size_t position = position_of(at);
  const std::lock_guard lock{mutex_};
  end_at(position);
  living_[position] = std::move(source);
}

void stage_accounts::add(stage_address at, std::shared_ptr<const engine_page> page) {
  add(at, [page = std::move(page)] { return page->telemetry(); });
}

void stage_accounts::end(stage_address at) {
  const std::size_t position = position_of(at);
  const std::lock_guard lock{mutex_};
  end_at(position);
}

void stage_accounts::end_at(std::size_t position) {
  if (const telemetry_source last = std::exchange(living_[position], nullptr)) add_to(ended_[position], last());
}

std::optional<std::uint64_t> stage_accounts::taken_in() const noexcept {
  // Read before begun_: a report that begins between the two reads then counts as not ended.
  const std::uint64_t ended = taken_in_.load();
  return begun_.load() == ended ? std::optional(ended) : std::nullopt;
}

std::vector<std::optional<stage_telemetry>> stage_accounts::living() const {
  const std::lock_guard lock{mutex_};
  std::vector<std::optional<stage_telemetry>> all;
  for (const telemetry_source& each : living_) all.push_back(each ? std::optional(each()) : std::nullopt);
  return all;
}

std::vector<stage_usage> stage_accounts::usage() const {
  const std::lock_guard lock{mutex_};
  std::vector<stage_usage> all = ended_;
  for (std::size_t position = 0; position < all.size(); ++position) {
    if (living_[position]) add_to(all[position], living_[position]());
  }
  return all;
}

}  // namespace troupe
