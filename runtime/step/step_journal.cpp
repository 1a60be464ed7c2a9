#include "runtime/step/step_journal.hpp"

#include <optional>
#include <utility>
#include <variant>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/try.hpp"
#include "runtime/journal/journal_reader.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/step/step_losses.hpp"

namespace troupe {

expected<std::shared_ptr<step_journal>> step_journal::open(const std::string& path, bool resume,
                                                           const journal_pins& pins) {
  std::shared_ptr<step_journal> made(new step_journal());
  const journal_listener listener{
      .on_state = [&](const score&) -> expected<void> {
        return fail(error_code::journal_damaged, path, "it has a state of an evaluation among the steps of a training",
                    "start anew with another journal");
      },
      .on_step = [&](const step_record& step) -> expected<void> {
        if (step_losses::totals_of(step)) {
          made->records_.push_back(step);
          return {};
        }
        return fail(error_code::journal_damaged, path, "decision " + std::to_string(step.number) + " has no loss",
                    "start anew with another journal");
      }};
  made->writer_ = TROUPE_TRY(resume ? resume_journal(path, pins, listener) : create_journal(path, pins));
  return made;
}

expected<void> step_journal::append(const score&) {
  return fail(error_code::journal_unwritable, "journal", "the state of an evaluation does not belong there",
              "report this with the log (stderr, or --log FILE)");
}

expected<void> step_journal::append(const step_record& step) {
  TROUPE_TRY(writer_->append(step));
  const std::lock_guard lock(mutex_);
  records_.push_back(step);
  return {};
}

step_replay step_journal::replay_from(std::uint64_t decisions) const {
  step_replay made(decisions);
  const std::lock_guard lock(mutex_);
  for (const step_record& each : records_) made.expect(each);
  return made;
}

std::vector<step_record> step_journal::before(std::uint64_t decisions) const {
  std::vector<step_record> found;
  const std::lock_guard lock(mutex_);
  for (const step_record& each : records_) {
    if (each.number < decisions) found.push_back(each);
  }
  return found;
}

namespace {

/// One more than the number of the last decision; nothing for a journal that cannot be read to its end.
std::optional<std::uint64_t> decisions_in(int fd, const std::string& path) {
  auto reader = journal_reader::open(fd, path);
  if (!reader) return std::nullopt;
  const auto header = reader->header();
  if (!header || !*header) return std::nullopt;
  for (std::uint64_t count = 0;;) {
    const auto entry = reader->next();
    if (!entry) return std::nullopt;
    if (!*entry) return count;
    const auto* const step = std::get_if<step_record>(&**entry);
    if (step == nullptr) return std::nullopt;
    count = step->number + 1;
  }
}

}  // namespace

void remove_needless_journal(const std::string& path, std::uint64_t decisions) {
  const unique_fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;
  const auto found = decisions_in(file.get(), path);
  if (found && *found <= decisions) ::unlink(path.c_str());
}

}  // namespace troupe
