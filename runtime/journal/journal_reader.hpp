#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "runtime/journal/journal_format.hpp"
#include <troupe/error.hpp>

namespace troupe {

using journal_entry = std::variant<score, step_record>;

/// Reads a journal once, from its start, holding one record at a time. A record that the file ends within is the normal
/// end of a run that was killed: it is left out. So are zeros up to the end of the file (at most
/// limits::journal_zeros_max) and a wrong checksum of the very last record, which a loss of power can leave behind. Any
/// other record that is not as it was written is E0802.
class journal_reader {
 public:
  /// `fd` stays the caller's, and its position is moved.
  static expected<journal_reader> open(int fd, const std::string& path,
                                       journal_format::record_check check = journal_format::record_check::of_checksums);

  /// First: what the run was started with. Nothing where the file ends before the header does.
  [[nodiscard]] expected<std::optional<journal_pins>> header();
  /// Then: the next state or step; nothing after the last whole one. The states of a sink follow each other from 0
  /// without a gap, and so do the numbers of decisions, from that of the first one on.
  [[nodiscard]] expected<std::optional<journal_entry>> next();

  /// Bytes up to the end of the last whole record; the rest is to be cut off before anything is appended.
  [[nodiscard]] std::uint64_t whole_bytes() const noexcept { return whole_; }

 private:
  using file_ptr = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  journal_reader(file_ptr file, std::string path, std::uint64_t size, journal_format::record_check check)
      : file_(std::move(file)), path_(std::move(path)), size_(size), check_(check) {}

  /// The payload of the next record, of at most `bytes_max`; nothing at the end.
  expected<std::optional<std::span<const std::uint8_t>>> next_payload(std::uint64_t bytes_max);
  expected<void> check(const score& state);
  expected<void> check(const step_record& step);
  expected<void> read(std::span<std::uint8_t> into);
  /// Whether there is nothing but zeros in the `left` bytes up to the end of the file; more than a loss of power leaves
  /// are not read.
  expected<bool> only_zeros_left(std::uint64_t left);
  [[nodiscard]] tl::unexpected<error> damaged(const std::string& cause) const;

  file_ptr file_;
  std::string path_;
  std::uint64_t size_;
  journal_format::record_check check_;
  std::uint64_t whole_ = 0;
  journal_format::bytes record_;
  std::map<std::uint32_t, std::uint64_t> next_index_;
  /// Of the last decision; without its folded words.
  std::optional<step_record> last_step_;
};

}  // namespace troupe
