#include "chaos_training.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "chaos_loop.hpp"
#include "messages/try.hpp"
#include "parse.hpp"
#include "train_flags.hpp"

namespace troupe::cli {
namespace {

constexpr const char* chaos_training_examples =
    "  troupe chaos --train --model net.pt --data mnist:train --epochs 1 --stages 2 --processes --fault-seed 1\n"
    "  troupe chaos --train --model net.pt --data mnist:train --steps 50 --processes --fault "
    "kill:stage=1,at=decision,step=7\n";

/// With a value behind it, and read by chaos itself.
constexpr std::array<std::string_view, 3> own_texts = {"--fault-seed", "--minutes", "--fault"};
constexpr std::array<std::string_view, 2> own_toggles = {"--train", "--json"};

bool is_one_of(std::string_view word, const auto& flags) {
  return std::ranges::find(flags, word) != flags.end();
}

/// For each training: all but what chaos obeys itself.
arguments words_for_training(const arguments& given) {
  arguments kept;
  for (std::size_t at = 0; at < given.size(); ++at) {
    const std::string& word = given[at];
    if (is_one_of(word, own_texts)) {
      ++at;
    } else if (!is_one_of(word, own_toggles) && !is_one_of(word.substr(0, word.find('=')), own_texts)) {
      kept.push_back(word);
    }
  }
  return kept;
}

expected<void> check_options(const train_options& options, const arguments& given) {
  const auto refuse = [](const char* option, const char* cause, const char* fix) {
    return fail(error_code::flags_contradict, option, cause, fix);
  };
  constexpr const char* several = "chaos trains several times, and keeps what it needs in a folder of its own";
  for (const auto& [option, is_given] :
       {std::pair{"save", !options.save.empty()}, std::pair{"resume", options.resume},
        std::pair{"save_weights", !options.save_weights.empty()}, std::pair{"output", !options.output.empty()}}) {
    if (is_given) return refuse(option, several, "leave it out");
  }
  const bool has_flags = std::ranges::any_of(
      given, [](const std::string& word) { return word == "--fault" || word.starts_with("--fault="); });
  if (options.run.faults.empty() || has_flags) return {};
  return refuse("fault", "the undisturbed training would find the faults of a file or variable, too",
                "give them by --fault");
}

}  // namespace

expected<exit_status> run_chaos_of_training(const chaos_nodes* nodes, const arguments& given) {
  if (nodes != nullptr) {
    return fail(error_code::flags_contradict, "chaos, train", "it trains on one host", "leave out the launch");
  }
  arguments words = given;
  std::erase(words, "--train");
  parser reader("chaos --train",
                "Train under faults and without, and compare losses and weights: status 0 only for the same bits.\n"
                "The faults are those given, or drawn from a seed.",
                chaos_training_examples);
  const train_flags flags(reader);
  chaos_flags own;
  reader.add_text("--fault-seed", own.seed, "Draw the faults from this number [a random one]", "N");
  reader.add_text("--minutes", own.minutes, "Draw new faults, seed by seed, for so long or until a run fails", "N");
  if (TROUPE_TRY(parse(reader, words)) == parsed::help_printed) return exit_status::ok;
  const train_options options = TROUPE_TRY(flags.read());
  TROUPE_TRY(check_options(options, words));
  chaos_request asked;
  asked.trains = true;
  asked.work = {.noun = "training", .words = {"train"}, .kept_in = "--save"};
  const arguments kept = words_for_training(words);
  asked.work.words.insert(asked.work.words.end(), kept.begin(), kept.end());
  asked.flags = {"--train"};
  asked.flags.insert(asked.flags.end(), kept.begin(), kept.end());
  asked.faults = options.run.faults;
  asked.json = options.json;
  asked.in_workers = options.run.workers.enabled;
  TROUPE_TRY(read_numbers(own, "fault-seed", asked));
  return compare_runs(asked);
}

}  // namespace troupe::cli
