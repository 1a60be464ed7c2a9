#include "runtime/journal/journal_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

using namespace journal_format;

constexpr const char* start_anew = "start anew with another journal";

bool all_zero(std::span<const std::uint8_t> content) {
  return std::all_of(content.begin(), content.end(), [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

expected<journal_reader> journal_reader::open(int fd, const std::string& path, record_check check) {
  struct stat status {};
  const int copy = ::fstat(fd, &status) == 0 && ::lseek(fd, 0, SEEK_SET) == 0 ? ::fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
  file_ptr file(copy < 0 ? nullptr : ::fdopen(copy, "rb"), &std::fclose);
  if (file == nullptr) {
    const int reason = errno;
    if (copy >= 0) ::close(copy);
    return fail(error_code::journal_damaged, path, std::string("cannot be read: ") + std::strerror(reason), start_anew);
  }
  return journal_reader(std::move(file), path, static_cast<std::uint64_t>(status.st_size), check);
}

expected<std::optional<journal_pins>> journal_reader::header() {
  std::array<std::uint8_t, magic.size()> found{};
  if (size_ < found.size()) return std::nullopt;
  TROUPE_TRY(read(found));
  if (!std::equal(magic.begin(), magic.end(), found.begin())) {
    return fail(error_code::journal_damaged, path_, "it does not begin as a journal does", "name a journal");
  }
  whole_ = found.size();
  auto payload = TROUPE_TRY(next_payload(limits::journal_header_bytes_max));
  if (!payload) return std::nullopt;
  auto pins = decode_header(*payload);
  if (!pins) return damaged("the first record is no header");
  return pins;
}

expected<std::optional<journal_entry>> journal_reader::next() {
  auto payload = TROUPE_TRY(next_payload(limits::journal_record_bytes_max));
  if (!payload) return std::nullopt;
  if (auto state = decode_state(*payload)) {
    TROUPE_TRY(check(*state));
    return std::optional<journal_entry>(std::move(*state));
  }
  if (auto step = decode_step(*payload)) {
    TROUPE_TRY(check(*step));
    return std::optional<journal_entry>(std::move(*step));
  }
  return damaged("a record is no state and no step");
}

expected<void> journal_reader::check(const score& state) {
  std::uint64_t& index = next_index_[state.sink];
  if (state.id.index != index) {
    return damaged("sink " + std::to_string(state.sink) + " goes on with micro-batch " +
                   std::to_string(state.id.index) + ", expected " + std::to_string(index));
  }
  ++index;
  return {};
}

expected<void> journal_reader::check(const step_record& step) {
  if (last_step_ && step.number != last_step_->number + 1) {
    return damaged("it goes on with decision " + std::to_string(step.number) + ", expected " +
                   std::to_string(last_step_->number + 1));
  }
  const auto expected_step = [&] { return last_step_->decision.step + (last_step_->decision.is_applied ? 1 : 0); };
  if (last_step_ && step.decision.step != expected_step()) {
    return damaged("decision " + std::to_string(step.number) + " is about step " + std::to_string(step.decision.step) +
                   ", expected " + std::to_string(expected_step()));
  }
  last_step_ = step_record{.number = step.number, .decision = step.decision};
  return {};
}

expected<std::optional<std::span<const std::uint8_t>>> journal_reader::next_payload(std::uint64_t bytes_max) {
  const std::uint64_t left = size_ - whole_;
  if (left < head_bytes) return std::nullopt;
  std::array<std::uint8_t, head_bytes> head{};
  TROUPE_TRY(read(head));
  const auto length = decode_head(head);
  if (!length) {
    // A page that was not written may begin within a head, too.
    const auto zeros = TROUPE_TRY(only_zeros_left(left - head_bytes));
    if (zeros) return std::nullopt;
    return damaged("the length of a record does not match its checksum");
  }
  if (*length > bytes_max) {
    return damaged("a record of " + std::to_string(*length) + " bytes, allowed are " + std::to_string(bytes_max));
  }
  const std::uint64_t bytes_all = head_bytes + *length + checksum_bytes;
  if (left < bytes_all) return std::nullopt;
  record_.resize(*length + checksum_bytes);
  TROUPE_TRY(read(record_));
  const auto payload = std::span<const std::uint8_t>(record_).first(*length);
  const bool is_checked = check_ == record_check::of_checksums;
  if (is_checked && !checksum_matches(payload, std::span<const std::uint8_t>(record_).last<checksum_bytes>())) {
    const auto zeros = TROUPE_TRY(only_zeros_left(left - bytes_all));
    if (zeros) return std::nullopt;
    return damaged("a record does not match its checksum");
  }
  whole_ += bytes_all;
  return payload;
}

expected<void> journal_reader::read(std::span<std::uint8_t> into) {
  if (std::fread(into.data(), 1, into.size(), file_.get()) == into.size()) return {};
  return damaged(std::ferror(file_.get()) != 0 ? std::string("cannot be read: ") + std::strerror(errno)
                                               : std::string("became shorter while it was read"));
}

expected<bool> journal_reader::only_zeros_left(std::uint64_t left) {
  if (left > limits::journal_zeros_max) return false;
  std::array<std::uint8_t, 4096> buffer{};
  for (;;) {
    const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file_.get());
    if (std::ferror(file_.get()) != 0) return damaged(std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) return true;
    if (!all_zero(std::span(buffer).first(got))) return false;
  }
}

tl::unexpected<error> journal_reader::damaged(const std::string& cause) const {
  return fail(error_code::journal_damaged, path_ + ", byte " + std::to_string(whole_), cause, start_anew);
}

}  // namespace troupe
