// Goal: the judge names each invariant that a history breaks, and objects to no history of a good run. Method:
// histories of real runs, into each of which one fault is planted.
#include "testing/simulation/judge.hpp"

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>

#include <gmock/gmock.h>

#include "testing/simulation/world.hpp"

namespace troupe::simulation {
namespace {

/// Two calls over two stages, of which a worker dies in the middle.
plan two_calls() {
  return {.seed = 7,
          .stages = 2,
          .replicas = 1,
          .slots_from_loader = 2,
          .slots_between = 2,
          .calls = {12, 5},
          .forward_us = 500,
          .faults = {{.kind = fault_kind::kill_in_forward, .stage = 1, .call = 0, .index = 6}}};
}

plan journaled() {
  return {.seed = 8,
          .stages = 1,
          .replicas = 1,
          .calls = {12},
          .has_journal = true,
          .forward_us = 10'000,
          .faults = {{.kind = fault_kind::kill_driver, .at_us = 100'000}}};
}

plan poisoned() {
  return {.seed = 9,
          .stages = 1,
          .replicas = 1,
          .calls = {6, 4},
          .faults = {{.kind = fault_kind::poison, .stage = 0, .call = 0, .index = 3}}};
}

/// The same, while workers of another stage are killed, at the same micro-batch and at others.
plan poisoned_among_deaths() {
  plan made = poisoned();
  made.stages = 2;
  made.faults.push_back({.kind = fault_kind::kill_in_forward, .stage = 1, .call = 0, .index = 1});
  made.faults.push_back({.kind = fault_kind::kill_in_forward, .stage = 1, .call = 1, .index = 3});
  return made;
}

/// The run fails, and with it both calls.
plan crashing() {
  return {.seed = 10,
          .stages = 2,
          .replicas = 1,
          .calls = {6, 4},
          .forward_us = 20'000,
          .faults = {{.kind = fault_kind::crash_loop, .stage = 1}}};
}

/// The first call is in the middle when the user wants no more.
plan drained() {
  return {.seed = 12,
          .stages = 2,
          .replicas = 1,
          .slots_from_loader = 2,
          .slots_between = 2,
          .calls = {200, 4},
          .forward_us = 2'000,
          .faults = {{.kind = fault_kind::stop_run, .at_us = 150'000}}};
}

/// A route whose parts meet again in a join; two sinks, of which one scores a case; a death in the middle.
plan routed() {
  plan made{.seed = 10,
            .slots_from_loader = 2,
            .slots_between = 2,
            .calls = {12, 5},
            .forward_us = 500,
            .faults = {{.kind = fault_kind::kill_in_forward, .stage = 2, .call = 0, .index = 6}}};
  made.graph.nodes = {{.sort = node_sort::route, .outputs = 2},
                      {.replicas = 2, .ordered = true, .inputs = {{0, 0}}},
                      {.sort = node_sort::join, .inputs = {{1, 0}, {0, 1}}}};
  made.graph.sinks = {{2, 0}, {1, 0}};
  return made;
}

using planting = std::function<void(history&)>;

history::iterator find(history& seen, happening what, std::size_t nth = 0) {
  auto found = seen.begin();
  for (;; ++found) {
    found = std::find_if(found, seen.end(), [&](const event& each) { return each.what == what; });
    if (found == seen.end() || nth-- == 0) break;
  }
  EXPECT_NE(found, seen.end()) << "the run has no " << static_cast<int>(what);
  return found;
}

planting again(happening what, std::size_t nth = 0) {
  return [=](history& seen) {
    const auto found = find(seen, what, nth);
    const event copy = *found;
    seen.insert(found + 1, copy);
  };
}

planting without(happening what, std::size_t nth = 0) {
  return [=](history& seen) { seen.erase(find(seen, what, nth)); };
}

planting with(happening what, std::size_t nth, const std::function<void(event&)>& change) {
  return [=](history& seen) { change(*find(seen, what, nth)); };
}

/// The n-th of what happened at this stage, or sink.
history::iterator find_at(history& seen, happening what, std::uint32_t stage, std::size_t nth = 0) {
  auto found = seen.begin();
  for (;; ++found) {
    found = std::find_if(found, seen.end(), [&](const event& e) { return e.what == what && e.stage == stage; });
    if (found == seen.end() || nth-- == 0) break;
  }
  EXPECT_NE(found, seen.end()) << "the run has no " << static_cast<int>(what) << " at " << stage;
  return found;
}

planting swapped(happening what, std::size_t one, std::size_t other) {
  return [=](history& seen) { std::iter_swap(find(seen, what, one), find(seen, what, other)); };
}

struct planted {
  const char* name;
  const char* invariant;
  plan run;
  planting plant;
};

std::ostream& operator<<(std::ostream& out, const planted& what) {
  return out << what.name;
}

class judging : public ::testing::TestWithParam<planted> {};

TEST_P(judging, names_the_invariant_that_is_broken) {
  simulator world;
  ASSERT_EQ(world.run(GetParam().run).wrong, "");
  history seen = world.seen();
  GetParam().plant(seen);
  const auto found = judge(GetParam().run, seen);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->invariant, GetParam().invariant) << found->why;
}

const std::vector<planted>& planted_in_results() {
  static const std::vector<planted> all = {
      {"never_ends", "ends", two_calls(),
       with(happening::driver_ended, 0, [](event& e) { e.what = happening::stuck; })},
      {"answered_twice", "answered-once", two_calls(), again(happening::answered)},
      {"never_answered", "answered-once", two_calls(), without(happening::answered, 1)},
      {"folded_twice", "exactly-once", two_calls(), again(happening::folded, 3)},
      {"lost", "exactly-once", two_calls(), without(happening::folded, 3)},
      {"out_of_order", "exactly-once", two_calls(), swapped(happening::folded, 3, 4)},
      {"folded_again_after_a_resume", "exactly-once", journaled(),
       [](history& seen) {
         const auto last =
             std::find_if(seen.rbegin(), seen.rend(), [](const event& e) { return e.what == happening::folded; });
         const std::uint32_t driver = last->driver;
         EXPECT_GT(driver, 0u) << "the driver's death came too late";
         std::find_if(seen.begin(), seen.end(), [driver](const event& e) {
           return e.what == happening::folded && e.driver == driver;
         })->index = 0;
       }},
      {"another_state", "same-bits", two_calls(), with(happening::folded, 3, [](event& e) { e.value ^= 1; })},
      {"another_number_of_samples", "same-bits", two_calls(), with(happening::folded, 3, [](event& e) { ++e.other; })},
      {"micro_batches_counted_wrong", "partial-labelled", two_calls(),
       with(happening::answered, 1, [](event& e) { --e.other; })},
      {"an_error_of_nothing", "licensed-error", two_calls(),
       with(happening::answered, 1, [](event& e) { e.value = 610; })},
      {"the_last_death_is_named", "first-cause", crashing(),
       [](history& seen) {
         const std::uint32_t last = std::find_if(seen.rbegin(), seen.rend(), [](const event& e) {
                                      return e.what == happening::worker_ended && e.stage == 1 &&
                                             e.value == static_cast<std::uint64_t>(exit_cause::killed);
                                    })->worker;
         find(seen, happening::blamed)->worker = last;
       }},
      {"no_death_is_named", "first-cause", crashing(), with(happening::blamed, 0, [](event& e) { e.worker = 0; })},
      {"another_cause_for_another_call", "first-cause", crashing(),
       with(happening::blamed, 1, [](event& e) { e.value ^= 1; })},
      {"another_is_named", "poison-named", poisoned(), with(happening::named, 0, [](event& e) { ++e.index; })},
      {"none_is_named", "poison-named", poisoned(), without(happening::named)},
      {"an_innocent_one_is_named_among_deaths", "poison-named", poisoned_among_deaths(),
       with(happening::named, 0, [](event& e) { e.index = 1; })},
      {"none_is_named_among_deaths", "poison-named", poisoned_among_deaths(), without(happening::named)},
      {"one_is_named_that_no_worker_had", "poison-named", crashing(),
       [](history& seen) {
         const auto answer = find(seen, happening::answered);
         seen.insert(answer + 1, {.what = happening::named, .call = 0, .index = 2, .value = answer->call});
       }},
      {"a_call_ends_well_after_the_run", "first-cause", crashing(),
       [](history& seen) {
         std::erase_if(seen, [](const event& e) { return e.what == happening::blamed && e.call == 1; });
         find(seen, happening::answered, 1)->value = 0;
       }},
      {"poison_costs_another_call", "poison-named", poisoned(),
       with(happening::answered, 1, [](event& e) { e.value = 616; })},
  };
  return all;
}

const std::vector<planted>& planted_in_ends() {
  static const std::vector<planted> all = {
      {"part_of_it_without_label", "partial-labelled", drained(),
       with(happening::labelled, 0, [](event& e) { e.value = 0; })},
      {"all_of_it_with_label", "partial-labelled", two_calls(),
       with(happening::labelled, 0, [](event& e) { e.value = 1; })},
      {"some_of_it_called_lost", "partial-labelled", drained(),
       with(happening::labelled, 0, [](event& e) { e.other = 1; })},
      {"counted_before_the_last_fold", "partial-labelled", drained(),
       [](history& seen) {
         const auto last =
             std::find_if(seen.rbegin(), seen.rend(), [](const event& e) { return e.what == happening::folded; });
         const event late = *last;
         seen.erase(std::next(last).base());
         seen.insert(find(seen, happening::answered) + 1, late);
         --find(seen, happening::answered)->other;
         find(seen, happening::answered)->index -= late.other;
         find(seen, happening::cut)->what = happening::given_up;
         find(seen, happening::answered)->value = find(seen, happening::given_up)->value = 606;
       }},
      {"dropped_what_was_under_way", "complete", drained(),
       [](history& seen) {
         const auto sent = std::find_if(seen.rbegin(), seen.rend(),
                                        [](const event& e) { return e.what == happening::edge_sent && e.worker == 0; });
         event more = *sent;
         ++more.index;
         more.value = more.other = 1'000;
         seen.insert(sent.base(), more);
       }},
      {"ended_before_it_began_though_it_had", "licensed-error", drained(),
       [](history& seen) {
         event sent = *find(seen, happening::edge_sent);
         sent.call = 1;
         sent.value = sent.other = 1'000;
         find(seen, happening::answered, 1)->value = 606;
         seen.insert(find(seen, happening::cut), sent);
       }},
      {"ended_well_and_not_asked_to_end", "complete", drained(), without(happening::cut)},
  };
  return all;
}

const std::vector<planted>& planted_in_graphs() {
  static const std::vector<planted> all = {
      {"doubled_at_one_sink", "exactly-once", routed(),
       [](history& seen) {
         const auto found = find_at(seen, happening::folded, 1, 3);
         const event copy = *found;
         seen.insert(found + 1, copy);
       }},
      {"lost_at_one_sink", "exactly-once", routed(),
       [](history& seen) { seen.erase(find_at(seen, happening::folded, 1, 3)); }},
      {"last_one_lost_at_one_sink", "complete", routed(),
       [](history& seen) {
         const auto last = std::find_if(seen.rbegin(), seen.rend(), [](const event& e) {
           return e.what == happening::folded && e.stage == 1 && e.call == 1;
         });
         seen.erase(std::next(last).base());
       }},
      {"of_the_other_sink", "same-bits", routed(),
       [](history& seen) {
         event& one = *find_at(seen, happening::folded, 1, 1);
         one.value = find_at(seen, happening::folded, 0, 1)->value;
       }},
      {"another_case_of_the_route", "same-bits", routed(),
       [](history& seen) {
         const auto empty = std::find_if(seen.begin(), seen.end(), [](const event& e) {
           return e.what == happening::folded && e.stage == 1 && e.other > 0;
         });
         ASSERT_NE(empty, seen.end());
         empty->other = empty->value = 0;
       }},
      {"another_partner", "right-parts", routed(),
       [](history& seen) {
         event& one = *find_at(seen, happening::forwarded, 2, 2);
         one.value = find_at(seen, happening::forwarded, 2, 1)->value;
       }},
      {"a_part_too_few", "right-parts", routed(),
       [](history& seen) { --find_at(seen, happening::forwarded, 2, 2)->other; }},
      {"samples_counted_wrong", "partial-labelled", routed(),
       with(happening::answered, 1, [](event& e) { ++e.index; })},
      {"given_up_and_not_asked", "licensed-error", routed(),
       with(happening::answered, 1, [](event& e) { e.value = 606; })},
  };
  return all;
}

const std::vector<planted>& planted_in_workers() {
  static const std::vector<planted> all = {
      {"started_without_end", "restart-budget", poisoned(),
       [](history& seen) {
         const event begin = *find(seen, happening::became_stage);
         const event end = *find(seen, happening::end_told);
         auto at = find(seen, happening::end_told) + 1;
         for (std::uint32_t more = 1; more < 8; ++more) {
           event next = begin;
           next.incarnation += more;
           at = seen.insert(at, next) + 1;
           at = seen.insert(at, end) + 1;
         }
       }},
      {"sent_without_credit", "credits", two_calls(),
       [](history& seen) { std::erase_if(seen, [](const event& e) { return e.what == happening::edge_freed; }); }},
      {"too_far_ahead", "window", two_calls(), with(happening::driver_started, 0, [](event& e) { e.other = 3; })},
      {"of_an_older_epoch", "no-stale-epoch", two_calls(),
       [](history& seen) {
         const auto late =
             std::find_if(seen.rbegin(), seen.rend(), [](const event& e) { return e.what == happening::edge_taken; });
         late->epoch = 1;
       }},
      {"computed_after_its_end", "no-stale-incarnation", two_calls(),
       [](history& seen) {
         const auto end = find(seen, happening::worker_ended);
         const std::uint32_t dead = end->worker;
         const auto last = std::find_if(seen.begin(), seen.end(), [dead](const event& e) {
           return e.what == happening::forwarded && e.worker == dead;
         });
         const event copy = *last;
         seen.insert(find(seen, happening::worker_ended) + 1, copy);
       }},
      {"two_at_one_place", "no-stale-incarnation", two_calls(),
       [](history& seen) { std::erase_if(seen, [](const event& e) { return e.what == happening::end_told; }); }},
      {"of_no_incarnation", "no-stale-incarnation", two_calls(),
       with(happening::folded, 3, [](event& e) { e.incarnation = 77; })},
  };
  return all;
}

const std::vector<planted>& planted_elsewhere() {
  static const std::vector<planted> all = {
      {"told_before_it_came", "blobs-first", two_calls(), without(happening::blob_arrived, 0)},
      {"acknowledged_and_lost", "journal-kept", journaled(),
       [](history& seen) {
         const auto last =
             std::find_if(seen.rbegin(), seen.rend(), [](const event& e) { return e.what == happening::recovered; });
         seen.erase(std::next(last).base());
         std::find_if(seen.rbegin(), seen.rend(), [](const event& e) {
           return e.what == happening::driver_started;
         })->value = 11;
       }},
      {"another_state_in_the_journal", "journal-kept", journaled(),
       with(happening::recovered, 2, [](event& e) { e.value ^= 1; })},
      {"silent_for_ever", "silent-replaced", two_calls(),
       [](history& seen) {
         // the last to be ready, as another one would be late at its thaw
         const auto last =
             std::find_if(seen.rbegin(), seen.rend(), [](const event& e) { return e.what == happening::said_ready; });
         event frozen{.at_ns = last->at_ns, .what = happening::frozen, .worker = last->worker};
         event thawed{.at_ns = last->at_ns + 60'000'000'000, .what = happening::thawed, .worker = last->worker};
         seen.insert(last.base(), {frozen, thawed});
       }},
      {"late_for_ever", "late-replaced", two_calls(),
       [](history& seen) {
         const std::uint32_t late = find(seen, happening::said_ready)->worker;
         std::erase_if(seen, [late](const event& e) { return e.what == happening::said_ready && e.worker == late; });
         for (event& each : seen) {
           if (each.what == happening::driver_ended) each.at_ns += 60'000'000'000;
         }
       }},
      {"an_actor_is_left", "nothing-left", two_calls(),
       with(happening::driver_ended, 0, [](event& e) { e.value = 1; })},
      {"something_else_is_left", "nothing-left", two_calls(), with(happening::left, 0, [](event& e) { ++e.value; })},
  };
  return all;
}

std::string name_of_planted(const ::testing::TestParamInfo<planted>& given) {
  return given.param.name;
}

INSTANTIATE_TEST_SUITE_P(results, judging, ::testing::ValuesIn(planted_in_results()), name_of_planted);
INSTANTIATE_TEST_SUITE_P(ends, judging, ::testing::ValuesIn(planted_in_ends()), name_of_planted);
INSTANTIATE_TEST_SUITE_P(graphs, judging, ::testing::ValuesIn(planted_in_graphs()), name_of_planted);
INSTANTIATE_TEST_SUITE_P(workers, judging, ::testing::ValuesIn(planted_in_workers()), name_of_planted);
INSTANTIATE_TEST_SUITE_P(rest, judging, ::testing::ValuesIn(planted_elsewhere()), name_of_planted);

}  // namespace
}  // namespace troupe::simulation
