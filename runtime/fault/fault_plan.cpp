#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "runtime/fault/fault_table.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe {

fault_target fault_target::stage(std::string name, std::optional<replica_index> replica) {
  std::replace(name.begin(), name.end(), '.', ' ');
  return {.kind = fault_target_kind::stage, .name = std::move(name), .replica = replica};
}

fault_target fault_target::edge(std::string from, std::string to) {
  fault_target made = stage(std::move(from));
  made.kind = fault_target_kind::edge;
  made.to = stage(std::move(to)).name;
  return made;
}

fault_target fault_target::control(std::string stage_name) {
  fault_target made = stage(std::move(stage_name));
  made.kind = fault_target_kind::control;
  return made;
}

fault_target fault_target::worker(std::uint32_t rank) {
  return {.kind = fault_target_kind::worker, .rank = rank};
}

fault_target fault_target::agent(std::string node) {
  return {.kind = fault_target_kind::agent, .name = std::move(node)};
}

fault_target fault_target::node(std::string name) {
  return {.kind = fault_target_kind::node, .name = std::move(name)};
}

fault_plan& fault_plan::add(fault one) {
  if (const auto wrong = objection_to(one)) {
    mistakes_.push_back(
        {error_code::fault_invalid, fmt::format("fault \"{}\"", to_string(one)), wrong->cause, wrong->fix});
  }
  faults_.push_back(std::move(one));
  return *this;
}

fault_plan& fault_plan::add(std::string_view text) {
  auto read = parse_fault(text);
  if (read) {
    faults_.push_back(std::move(*read));
  } else {
    mistakes_.push_back(std::move(read.error()));
  }
  return *this;
}

fault_plan& fault_plan::written_at(std::vector<std::string> places) {
  places_ = std::move(places);
  return *this;
}

std::string fault_plan::where(std::size_t number) const {
  const std::string text = fmt::format("fault \"{}\"", to_string(faults_.at(number)));
  return number < places_.size() && !places_[number].empty() ? places_[number] + ": " + text : text;
}

expected<void> fault_plan::check() const {
  if (!mistakes_.empty()) return tl::make_unexpected(mistakes_.front());
  if (faults_.size() <= limits::faults_max) return {};
  return fail(error_code::fault_invalid, "faults",
              fmt::format("{} faults, at most {} are possible", faults_.size(), limits::faults_max));
}

std::vector<std::string> fault_plan::texts() const {
  std::vector<std::string> made;
  made.reserve(faults_.size());
  for (const fault& each : faults_) made.push_back(to_string(each));
  return made;
}

}  // namespace troupe
