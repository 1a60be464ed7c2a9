#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "messages/score.hpp"
#include "runtime/journal/journal_format.hpp"
#include "runtime/journal/journal_tail.hpp"
#include <troupe/error.hpp>

/// What a journal does with its file before states are appended: the same on a disk and on a simulated one.
namespace troupe {

class journal_store : public journal_file {
 public:
  /// Bytes behind `size` go, and the next bytes written stand there. 0, or errno.
  [[nodiscard]] virtual int cut(std::uint64_t size) = 0;
};

/// Takes the records of a journal that is resumed, in their order. An error ends the reading and is handed on.
struct journal_listener {
  std::function<expected<void>(const score&)> on_state;
  /// Null: the run is no training, and a step in its journal is E0802.
  std::function<expected<void>(const step_record&)> on_step = nullptr;
};

/// With the versions of journal and bits.
[[nodiscard]] journal_format::bytes journal_header(const journal_pins& pins);
/// Nothing where the pins have no such name, and it is not one that old journals leave out.
[[nodiscard]] std::optional<std::string> find_pin(const journal_pins& pins, const std::string& name);

/// The file has the header on the disk, and nothing else. E0803.
[[nodiscard]] expected<void> begin_journal(journal_store& file, const std::string& path, const journal_pins& pins);

/// As resume_journal(), of a file that is open. `fd`: its content, to be read.
[[nodiscard]] expected<void> take_over_journal(
    journal_store& file, int fd, const std::string& path, const journal_pins& pins, const journal_listener& listener,
    journal_format::record_check check = journal_format::record_check::of_checksums);

/// E0803 for an errno.
[[nodiscard]] tl::unexpected<error> journal_unwritable(const std::string& path, int reason);

}  // namespace troupe
