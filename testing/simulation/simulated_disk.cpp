#include "testing/simulation/simulated_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/process/memory_file.hpp"

namespace troupe::simulation {
namespace {

constexpr const char* journal_name = "journal";

using record = std::pair<std::size_t, std::size_t>;

/// Begin and end of each record's payload, the header's first.
std::vector<record> records_of(std::span<const std::uint8_t> content) {
  std::vector<record> found;
  constexpr std::size_t head = journal_format::head_bytes;
  for (std::size_t at = journal_format::magic.size(); at + head <= content.size();) {
    const auto length = journal_format::decode_head(content.subspan(at).first<head>());
    if (!length || at + head + *length + journal_format::checksum_bytes > content.size()) break;
    found.emplace_back(at + head, at + head + *length);
    at += head + *length + journal_format::checksum_bytes;
  }
  return found;
}

}  // namespace

int simulated_disk::write(std::span<const std::uint8_t> content) {
  const auto fitting = is_full_ ? content.first(content.size() / 3) : content;
  content_.insert(content_.end(), fitting.begin(), fitting.end());
  return is_full_ ? ENOSPC : 0;
}

void simulated_disk::lose_power(chance& random) {
  const std::size_t kept = synced_ + random.below(content_.size() - synced_ + 1);
  const std::size_t lost = content_.size() - kept;
  content_.resize(kept);
  if (random.below(3) == 0) content_.resize(kept + random.below(lost + 1), 0);
  synced_ = content_.size();
}

void simulated_disk::flip_bit(chance& random) {
  const auto records = records_of(content_);
  if (records.size() < 3) return;
  // Neither the header nor the last, which a reader may take for one that was cut.
  const auto [begin, end] = records[1 + random.below(records.size() - 2)];
  content_[begin + random.below(end - begin)] ^= static_cast<std::uint8_t>(1u << random.below(8));
}

expected<void> simulated_journal::append(const score& state) {
  if (failure_) return tl::make_unexpected(*failure_);
  if (is_closed_) return {};
  const bool was_empty = queue_.empty();
  journal_format::append_state(queue_, state);
  if (was_empty) later_.at(now_ + limits::journal_write_interval, [this] { turn(); });
  return {};
}

/// Written at once, as its caller would wait for that.
expected<void> simulated_journal::append(const step_record& step) {
  if (failure_) return tl::make_unexpected(*failure_);
  if (is_closed_) return fail(error_code::journal_unwritable, "journal", "it is closed");
  const bool was_empty = queue_.empty();
  journal_format::append_step(queue_, step);
  put(false);
  const auto next = tail_.next_sync();
  if (was_empty && next) later_.at(*next, [this] { turn(); });
  if (failure_) return tl::make_unexpected(*failure_);
  return {};
}

void simulated_journal::turn() {
  put(false);
  if (failure_) return;
  if (const auto next = tail_.next_sync()) later_.at(*next, [this] { turn(); });
}

void simulated_journal::put(bool last) {
  if (failure_) return;
  const int reason = tail_.put(std::exchange(queue_, {}), last, now_);
  if (reason != 0) failure_ = error{error_code::journal_unwritable, "journal", std::strerror(reason), {}};
}

bool simulated_journal::close() {
  put(true);
  is_closed_ = true;
  return !failure_;
}

expected<void> begin_journal(simulated_disk& disk) {
  return troupe::begin_journal(disk, journal_name, {});
}

expected<std::vector<score>> read_journal(simulated_disk& disk, mutant broken,
                                          const std::function<bool(const score&)>& is_ours) {
  const auto& content = disk.content();
  const auto file =
      TROUPE_TRY(memory_file::make(journal_name, {reinterpret_cast<const char*>(content.data()), content.size()}));
  std::vector<score> states;
  const auto keep = [&](const score& each) -> expected<void> {
    if (!is_ours(each)) return fail(error_code::journal_damaged, journal_name, "a state is none of this run's");
    states.push_back(each);
    return {};
  };
  const auto check = broken == mutant::journal_checksums ? journal_format::record_check::none
                                                         : journal_format::record_check::of_checksums;
  return take_over_journal(disk, file.fd(), journal_name, {}, {.on_state = keep}, check).map([&] {
    return std::move(states);
  });
}

}  // namespace troupe::simulation
