#include <algorithm>
#include <array>
#include <string_view>

#include "chaos_loop.hpp"
#include "chaos_nodes.hpp"
#include "chaos_training.hpp"
#include "command.hpp"
#include "messages/try.hpp"
#include "option_flags.hpp"
#include "option_words.hpp"
#include "parse.hpp"
#include "program/start/fault_checks.hpp"

namespace troupe::cli {
namespace {

constexpr const char* chaos_examples =
    "  troupe chaos --model data/mnist/lenet.pt --data mnist:data/mnist --stages 2 --processes --seed 1\n"
    "  troupe chaos --config run.toml --processes --fault kill:stage=1,at=mb17 --fault drop:control=driver-1,p=0.1\n"
    "  troupe chaos --config run.toml --processes --minutes 10\n"
    "  troupe chaos --train --model net.pt --data mnist:train --epochs 1 --stages 2 --processes --minutes 10\n";

constexpr const char* train_flag = "--train";

/// What says where the results of an evaluation go: chaos has its own places.
constexpr std::array<std::string_view, 5> refused = {"output", "journal", "resume", "trace", "log_scalars"};

/// What chaos itself obeys.
constexpr std::array<std::string_view, 1> own_flags = {"json"};

/// What begins an evaluation.
arguments words_to_evaluate(const chaos_nodes* nodes, const arguments& flags) {
  arguments words;
  if (nodes != nullptr) {
    words = {"launch"};
    words.insert(words.end(), nodes->launch_flags.begin(), nodes->launch_flags.end());
    words.insert(words.end(), {"--", nodes->program});
  }
  words.emplace_back("eval");
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

expected<eval_options> read_options(const option_flags& flags, const chaos_nodes* nodes, chaos_request& into) {
  TROUPE_TRY(refuse_launch("chaos", "put troupe chaos itself behind --, and no script"));
  auto resolved = TROUPE_TRY(flags.resolve());
  if (nodes != nullptr) resolved.options.run.workers.enabled = true;
  TROUPE_TRY(
      refuse_given(resolved, refused, "chaos evaluates several times, and keeps what it needs in a folder of its own"));
  TROUPE_TRY(check_together(resolved));
  into.flags = words_of(resolved, own_flags);
  into.work.words = words_to_evaluate(nodes, into.flags);
  into.faults = resolved.options.run.faults;
  into.json = resolved.options.json;
  into.in_workers = resolved.options.run.workers.enabled;
  into.nodes = nodes;
  return resolved.options;
}

/// Before anything is evaluated.
expected<void> check_fit(eval_options planned, const chaos_nodes* nodes) {
  if (planned.run.faults.empty()) return {};
  if (std::ranges::any_of(planned.run.faults.faults(), ends_the_run)) planned.run.journal.file = "a file of its own";
  std::vector<fault_shape::place> places;
  if (nodes != nullptr) places = places_of(*nodes, std::size_t{planned.stages} * planned.replicas);
  return check_faults(planned, std::move(places));
}

expected<exit_status> run(const arguments& given, const chaos_nodes* nodes) {
  if (std::ranges::find(given, train_flag) != given.end()) return run_chaos_of_training(nodes, given);
  parser reader("chaos",
                "Evaluate under faults and without, and compare: status 0 only for the same bits.\n"
                "The faults are those given, or drawn from a seed.",
                chaos_examples);
  const option_flags flags(reader);
  chaos_flags own;
  bool trains = false;
  reader.add_toggle(train_flag, trains, "Train in place of an evaluation, with the flags of troupe train");
  reader.add_text("--seed", own.seed, "Draw the faults from this number [a random one]", "N");
  reader.add_text("--minutes", own.minutes, "Draw new faults, seed by seed, for so long or until a run fails", "N");
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  chaos_request asked;
  const eval_options options = TROUPE_TRY(read_options(flags, nodes, asked));
  TROUPE_TRY(read_numbers(own, "seed", asked));
  TROUPE_TRY(check_fit(options, nodes));
  return compare_runs(asked);
}

}  // namespace

expected<exit_status> run_chaos(const arguments& given) {
  return run(given, nullptr);
}

expected<exit_status> run_chaos_over(const chaos_nodes& nodes, const arguments& given) {
  return run(given, &nodes);
}

}  // namespace troupe::cli
