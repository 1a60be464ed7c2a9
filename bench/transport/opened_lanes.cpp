#include "opened_lanes.hpp"

namespace troupe::bench {
namespace {

const std::string copies = "memcpy";
const std::string threads = "inproc";

}  // namespace

std::vector<std::string> lane_names() {
  std::vector<std::string> names{copies, threads};
  for (const auto& kind : lane_kinds()) names.push_back(kind->name());
  return names;
}

opened_lanes::opened_lanes(const std::vector<std::string>& names, const patience& wait) {
  process_.emplace(std::vector{std::to_string(wait.spin.count())});
  try {
    for (const std::string& name : names) open(name, wait);
  } catch (...) {
    close();
    throw;
  }
}

void opened_lanes::open(const std::string& name, const patience& wait) {
  if (name == copies) {
    lanes_.push_back({name, make_memcpy_lane(), nullptr});
  } else if (name == threads) {
    auto [own, other] = make_inproc_lane(wait, wait);
    thread_.emplace(name, std::move(other), wait);
    lanes_.push_back({name, std::move(own), &thread_->talk()});
  } else {
    lane_side driver{process_->talk(), {wait.spin, wait.limit, [this] { process_->check_alive(); }}};
    lanes_.push_back({name, kind_named(name).open(driver), &process_->talk()});
  }
}

// The other side first hears that it is over, and all edges are closed before the first endpoint goes: it waits for the
// other side's edges, which go in an order of their own.
void opened_lanes::close() noexcept {
  process_->dismiss();
  if (thread_) thread_->dismiss();
  for (const lane& one : lanes_) one.end->close();
  lanes_.clear();
}

}  // namespace troupe::bench
