#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/journal/journal_store.hpp"
#include "runtime/journal/journal_writer.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Whether the file is there exactly if the run is a resumed one, without touching it: E0803 or E0804 otherwise. Asked
/// early, as everything else of a run takes time to prepare.
[[nodiscard]] expected<void> check_journal(const std::string& path, bool resume);

/// What the journal's header says under that name, without taking the journal over; nothing where there is no such
/// journal, header or name. resume_journal() has the errors.
[[nodiscard]] std::optional<std::string> journal_pin_of(const std::string& path, const std::string& name);

/// Makes a new journal with its header on disk, locked against other processes. E0803 if there is such a file already,
/// it cannot be made, or the pins are too long
/// (limits::journal_header_bytes_max).
[[nodiscard]] expected<std::shared_ptr<journal_writer>> create_journal(const std::string& path,
                                                                       const journal_pins& pins);

/// Opens and locks a journal, hands out its records in their order, cuts off an incomplete end, and goes on there. A
/// file that was cut within its header is begun anew if it is this run's. Errors: E0804 there is none; E0801 other
/// pins, all that differ with both values; E0802 damaged; E0803 locked by another process or not writable; what the
/// listener returns.
[[nodiscard]] expected<std::shared_ptr<journal_writer>> resume_journal(const std::string& path,
                                                                       const journal_pins& pins,
                                                                       const journal_listener& listener);

}  // namespace troupe
