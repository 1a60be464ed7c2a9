#include "runtime/step/step_journal.hpp"

#include <utility>

#include "messages/try.hpp"
#include "runtime/journal/open_journal.hpp"
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

}  // namespace troupe
