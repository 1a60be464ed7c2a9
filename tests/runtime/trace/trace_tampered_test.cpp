// Goal: the checker finds every kind of tampering. Method: legal traces of thousands of seeds, changed in one place.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sanitized.hpp"
#include "trace_simulator.hpp"

namespace troupe {
namespace {

using enum instruction_kind;
using ::testing::HasSubstr;
using testing::random_run;
using testing::trace_simulator;
using events = std::vector<trace_event>;

struct tampering {
  const char* name;
  /// Changes the trace; false if this trace offers no place for it.
  bool (*apply)(const traced_run& run, events& all, std::mt19937_64& random);
};

/// Must `a` come before `b`, whatever the interleaving? The rules once more, pair by pair.
bool must_precede(const traced_run& run, const trace_event& a, const trace_event& b) {
  const auto is_take = [](const trace_event& e) { return e.what == load_micro_batch || e.what == recv_activation; };
  if (a.where == b.where) {
    if (a.id == b.id) return true;  // take, forward, send: given in trace order
    if (a.what == b.what) return true;
    if (a.what == forward_pass && is_take(b)) return true;
    if (a.what == send_activation && b.what == forward_pass) return true;
    return is_take(a) && b.what != load_micro_batch && b.what != recv_activation;
  }
  return a.where.replica == b.where.replica && a.where.stage + 1 == b.where.stage && a.what == send_activation &&
         b.what == recv_activation && a.id <= b.id && run.stages > 1;
}

bool swap_dependent(const traced_run& run, events& all, std::mt19937_64& random) {
  const std::size_t i = random() % all.size();
  for (std::size_t j = i + 1; j < all.size(); ++j) {
    if (must_precede(run, all[i], all[j])) {
      std::swap(all[i].order, all[j].order);
      return true;
    }
  }
  return false;
}

bool any_event(events& all, std::mt19937_64& random, bool (*fits)(const trace_event&), trace_event*& found) {
  const std::size_t start = random() % all.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    trace_event& e = all[(start + i) % all.size()];
    if (fits(e)) {
      found = &e;
      return true;
    }
  }
  return false;
}

const tampering tamperings[] = {
    {"drop an event",
     [](const traced_run&, events& all, std::mt19937_64& random) {
       all.erase(all.begin() + static_cast<std::ptrdiff_t>(random() % all.size()));
       return true;
     }},
    {"drop a micro-batch altogether",
     [](const traced_run&, events& all, std::mt19937_64& random) {
       const micro_batch_id id = all[random() % all.size()].id;
       std::erase_if(all, [&](const trace_event& e) { return e.id == id; });
       return true;
     }},
    {"repeat an event",
     [](const traced_run&, events& all, std::mt19937_64& random) {
       all.push_back(all[random() % all.size()]);
       return true;
     }},
    {"repeat an event later",
     [](const traced_run&, events& all, std::mt19937_64& random) {
       trace_event again = all[random() % all.size()];
       again.order = all.back().order + 1;
       all.push_back(again);
       return true;
     }},
    {"swap two events that depend on each other", swap_dependent},
    {"swap the micro-batches of two events",
     [](const traced_run&, events& all, std::mt19937_64& random) {
       trace_event& a = all[random() % all.size()];
       trace_event& b = all[random() % all.size()];
       std::swap(a.id, b.id);
       return a.id != b.id;
     }},
    {"swap the instructions of two events",
     [](const traced_run&, events& all, std::mt19937_64& random) {
       trace_event& a = all[random() % all.size()];
       trace_event& b = all[random() % all.size()];
       std::swap(a.what, b.what);
       return a.what != b.what;
     }},
    {"change a buffer",
     [](const traced_run&, events& all, std::mt19937_64& random) {
       all[random() % all.size()].buffer += static_cast<std::uint32_t>(1 + random() % 3);
       return true;
     }},
    {"change a buffer within its range",
     [](const traced_run& run, events& all, std::mt19937_64& random) {
       trace_event& e = all[random() % all.size()];
       const std::uint32_t n = run.num_pipe_buffers[run.num_pipe_buffers.size() == 1 ? 0 : e.where.stage];
       e.buffer = (e.buffer + 1) % n;
       return n > 1;
     }},
    {"move an event to another replica",
     [](const traced_run& run, events& all, std::mt19937_64& random) {
       trace_event& e = all[random() % all.size()];
       e.where.replica = (e.where.replica + 1) % run.replicas;
       return run.replicas > 1;
     }},
    {"move a micro-batch to another replica half-way",
     [](const traced_run& run, events& all, std::mt19937_64& random) {
       const micro_batch_id id = all[random() % all.size()].id;
       for (trace_event& e : all) {
         if (e.id == id && e.where.stage > 0) e.where.replica = (e.where.replica + 1) % run.replicas;
       }
       return run.replicas > 1 && run.stages > 1;
     }},
    {"move an event to another stage",
     [](const traced_run& run, events& all, std::mt19937_64& random) {
       trace_event& e = all[random() % all.size()];
       e.where.stage = (e.where.stage + 1) % run.stages;
       return run.stages > 1;
     }},
    {"an engine that does not exist",
     [](const traced_run& run, events& all, std::mt19937_64& random) {
       trace_event& e = all[random() % all.size()];
       (random() % 2 == 0 ? e.where.stage += run.stages : e.where.replica += run.replicas);
       return true;
     }},
    {"a micro-batch that does not exist",
     [](const traced_run& run, events& all, std::mt19937_64& random) {
       trace_event& e = all[random() % all.size()];
       e.id.index += run.micro_batches[e.id.call];
       return true;
     }},
    {"an instruction of training",
     [](const traced_run&, events& all, std::mt19937_64& random) {
       all[random() % all.size()].what = random() % 2 == 0 ? backward_pass : optimizer_step;
       return true;
     }},
    {"send before forward",
     [](const traced_run&, events& all, std::mt19937_64& random) {
       trace_event* sent = nullptr;
       if (!any_event(
               all, random, [](const trace_event& e) { return e.what == send_activation; }, sent))
         return false;
       for (trace_event& e : all) {
         if (e.where == sent->where && e.id == sent->id && e.what == forward_pass) std::swap(e.order, sent->order);
       }
       return true;
     }},
    {"receive before send",
     [](const traced_run&, events& all, std::mt19937_64& random) {
       trace_event* received = nullptr;
       if (!any_event(
               all, random, [](const trace_event& e) { return e.what == recv_activation; }, received))
         return false;
       for (trace_event& e : all) {
         if (e.where.stage + 1 == received->where.stage && e.id == received->id && e.what == send_activation) {
           std::swap(e.order, received->order);
         }
       }
       return true;
     }},
};

TEST(tampered_traces, are_all_found) {
  constexpr std::uint64_t seeds = troupe::testing::sanitized ? 150 : 1000;
  for (const tampering& t : tamperings) {
    std::uint64_t applied = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      std::mt19937_64 random(seed);
      const traced_run run = random_run(random);
      events all = trace_simulator(run, seed).run();
      if (!t.apply(run, all, random)) continue;
      ++applied;
      ASSERT_FALSE(check_trace(run, all).has_value()) << t.name << ", seed " << seed;
    }
    EXPECT_GT(applied, seeds / 5) << t.name << " hardly ever applied";
  }
}

/// Most micro-batches at a time between their send by stage 0 and their forward in stage 1, counted at every event.
std::size_t most_live(const events& all) {
  std::size_t live = 0, most = 0;
  for (const trace_event& e : all) {
    live += e.what == send_activation ? 1 : 0;
    live -= e.where.stage == 1 && e.what == forward_pass ? 1 : 0;
    most = std::max(most, live);
  }
  return most;
}

TEST(tampered_traces, too_many_live_are_found_and_only_they) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    traced_run run{.stages = 2, .replicas = 1, .num_pipe_buffers = {3}, .micro_batches = {30}};
    events all = trace_simulator(run, seed).run();
    // The edge had three slots, and the check is told of two.
    run.num_pipe_buffers = {2};
    for (trace_event& e : all) e.buffer = static_cast<std::uint32_t>(e.id.index % 2);
    const auto result = check_trace(run, all);
    ASSERT_EQ(result.has_value(), most_live(all) <= 2) << "seed " << seed;
    if (!result) {
      EXPECT_THAT(result.error().cause, HasSubstr("'live within pipe buffers'"));
      ++found;
    }
  }
  EXPECT_GT(found, 200u);
}

}  // namespace
}  // namespace troupe
