#include "runtime/step/step_replay.hpp"

#include <bit>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "messages/check.hpp"

namespace troupe {
namespace {

bool have_same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// "learning_rate was 0.1 and is 0.2", of the first field that differs.
std::optional<std::string> difference(const step_record& was, const step_record& is) {
  const auto differ = [](const char* field, auto before, auto now) {
    return fmt::format("{} was {} in the journal and is {}", field, before, now);
  };
  const step_decision& a = was.decision;
  const step_decision& b = is.decision;
  if (was.number != is.number) return differ("the number", was.number, is.number);
  if (a.step != b.step) return differ("step", a.step, b.step);
  if (!have_same_bits(was.weight, is.weight)) return differ("weight", was.weight, is.weight);
  if (!have_same_bits(was.norm, is.norm)) return differ("norm", was.norm, is.norm);
  if (a.is_applied != b.is_applied) return differ("is_applied", a.is_applied, b.is_applied);
  if (!have_same_bits(a.gradient_scale, b.gradient_scale)) {
    return differ("gradient_scale", a.gradient_scale, b.gradient_scale);
  }
  if (!have_same_bits(a.learning_rate, b.learning_rate)) {
    return differ("learning_rate", a.learning_rate, b.learning_rate);
  }
  if (was.folded != is.folded) return "the folded scores are others than in the journal";
  return std::nullopt;
}

}  // namespace

void step_replay::expect(step_record earlier) {
  TROUPE_CHECK(!last_ || earlier.number == *last_ + 1, "the reader of a journal checks the numbers");
  last_ = earlier.number;
  if (earlier.number >= first_) earlier_.push_back(std::move(earlier));
}

expected<void> step_replay::check_reach() const {
  if (!earlier_.empty() && earlier_.front().number != first_) {
    return fail(
        error_code::journal_mismatch, "journal",
        fmt::format("it begins with decision {}, behind the checkpoint, which has {}", earlier_.front().number, first_),
        "load the checkpoint that the run began with, or a later one, or start anew with another journal");
  }
  if (!last_ || first_ <= *last_ + 1) return {};
  return fail(error_code::journal_mismatch, "journal",
              fmt::format("it ends with decision {}, and the checkpoint is behind decision {}", *last_, first_ - 1),
              "load a checkpoint of the same run, or start anew with another journal");
}

expected<bool> step_replay::take(const step_record& again) {
  if (earlier_.empty()) return false;
  if (const auto found = difference(earlier_.front(), again)) {
    return fail(error_code::journal_mismatch, "step " + std::to_string(again.decision.step), *found,
                "resume with the options, data and program of the first run, or start anew with another journal");
  }
  earlier_.pop_front();
  return true;
}

}  // namespace troupe
