#include <algorithm>
#include <cstdint>
#include <vector>

#include "actors/director.hpp"
#include "runtime/step/step_ledger.hpp"

namespace troupe {

/// A vote that cannot be true comes from an engine of this process, or from a worker that remote_stage let pass: the
/// run cannot go on with it.
void director_state::count(const step_vote& vote) {
  const auto counted = options_.steps->vote(vote);
  if (!counted) return fatal(counted.error());
  if (*counted == step_ledger::verdict::counted) decide(vote.call);
}

void director_state::is_folded(const call_folded& what) {
  if (!calls_.contains(what.call)) return;
  calls_.scores_are_folded(what.call, what.micro_batches);
  decide(what.call);
}

/// The decision is in the journal when decide() returns it. The stages are told before the aggregator, which lets the
/// call end: at the end of the call the decision is on its way.
void director_state::decide(call_number number) {
  if (!calls_.contains(number) || !calls_.at(number).folded) return;
  if (calls_.at(number).now == call_book::phase::cancelling) return;
  if (options_.steps->lacks_work(number, *calls_.at(number).folded)) {
    return make_new_edges({error_code::work_lost, "training step of call " + std::to_string(number),
                           "a stage has not seen all of its micro-batches",
                           "report this with the log (stderr, or --log FILE); another transport may not lose them"});
  }
  const call_ticket& ticket = *calls_.at(number).ticket;
  const auto made =
      options_.steps->decide(number, ticket.folded_words ? ticket.folded_words() : std::vector<std::uint64_t>());
  if (!made) return cancel(number, made.error());
  if (!*made) return;
  tell_stages((*made)->decision);
  tell(self_, aggregator_, commit_call{number});
}

/// A stage that starts may have computed its part of the newest step before it died.
void director_state::tell_decision(stage_address at) {
  if (!options_.steps || !options_.steps->last_decision()) return;
  tell(self_, stages_.members().at(at).actor, options_.steps->last_decision()->decision);
}

/// The aggregator that was told of the decision may have died before it read that.
void director_state::commit_again() {
  if (!options_.steps || !options_.steps->last_decision()) return;
  tell(self_, aggregator_, commit_call{options_.steps->last_decision()->decision.call});
}

/// The loader may have named its first micro-batch before it heard of the newest decision. No stage waits for those of
/// a step that is over.
micro_batch_id director_state::behind_decisions(micro_batch_id from) const {
  if (!options_.steps) return from;
  const auto& last = options_.steps->last_decision();
  if (last) from = std::max(from, micro_batch_id{last->decision.call + 1, 0});
  // A step without micro-batches is done again as well, and the loader has none to name.
  if (const auto step = options_.steps->first_undecided()) from = std::min(from, micro_batch_id{*step, 0});
  return from;
}

std::optional<step_record> director_state::record_of(call_number number) const {
  if (!options_.steps || !options_.steps->last_decision()) return std::nullopt;
  const step_record& last = *options_.steps->last_decision();
  return last.decision.call == number ? std::optional(last) : std::nullopt;
}

}  // namespace troupe
