#pragma once

#include <optional>
#include <string>

#include "testing/simulation/history.hpp"
#include "testing/simulation/plan.hpp"

namespace troupe::simulation {

/// A promise that was broken: its name, and where.
struct verdict {
  std::string invariant;
  std::string why;
};

/// Holds what was seen of a run against what Troupe promises. It shares no code with what it judges: the results come
/// from a plain loop, everything else from the order of what happened. The invariants:
///
///   ends                  the run ends within its bounds
///   answered-once         each call that was submitted is answered once, unless its driver died
///   exactly-once          each sink folds each micro-batch once, in order, and behind what the journal gave back
///   same-bits             each state that is folded is that of a plain loop over the graph
///   right-parts           each forward gets the parts of its micro-batch: partners of a join, cases of a route
///   partial-labelled      an answer counts what was folded, and after it nothing is; a call that has not all its
///                         micro-batches is called partial, and a complete one is not
///   complete              a call without an error has all its micro-batches; one that was cut all that were sent
///   licensed-error        a call ends with an error only for what did happen
///   stage-failed          no user's code throws
///   first-cause           a run that ends for the deaths of a stage names the first of the row; all calls that a
///                         failed run ends have the same cause, and none ends well after it
///   poison-named          a micro-batch is named if, and only if, three workers in a row of one place ended in its
///                         forward; one that kills every worker costs its own call alone
///   silent-replaced       a stage that is silent for too long loses its place
///   late-replaced         a worker that does not become its stage within its deadline loses its place
///   restart-budget        a stage is not started again and again without progress
///   credits               no edge holds more than its slots
///   window                the loader is no further ahead than its window, in which cancelled calls do not count
///   no-stale-epoch        nothing is taken from an edge of an older epoch
///   no-stale-incarnation  nothing of an incarnation has an effect after its end, and no two overlap
///   blobs-first           what an order speaks of was there before it
///   journal-kept          what was acknowledged is in the journal, and nothing wrong
///   nothing-left          of a driver no actor, engine, worker, page, end of a link, journal is left; when its last
///                         engine has stopped no end of an edge is open, and timers are no more than its workers' own
/// `thrown`: by a user's code, last.
[[nodiscard]] std::optional<verdict> judge(const plan& what, const history& seen, const std::string& thrown = {});

/// "same bits", "partial" of calls that were cut, or the codes with which calls ended.
[[nodiscard]] std::string ending_of(const history& seen);

}  // namespace troupe::simulation
