#include <utility>

#include "beside.hpp"
#include "command.hpp"
#include "messages/try.hpp"
#include "node_flags.hpp"
#include "parse.hpp"
#include "runtime/launcher/shell_words.hpp"

namespace troupe::cli {
namespace {

constexpr const char* agent_examples =
    "  troupe agent --join-file FILE\n"
    "  (cat FILE; cat) | ssh NODE troupe agent --stdin\n";

}  // namespace

tl::unexpected<error> become_agent(const arguments& given) {
  arguments words = {own_directory() + "/troupe-agent"};
  words.insert(words.end(), given.begin(), given.end());
  return become("troupe-agent", std::move(words));
}

expected<exit_status> run_agent(const arguments& given) {
  parser reader(
      "agent",
      "Join a launch as one of its nodes; troupe launch starts it by itself. Becomes the program troupe-agent\n"
      "that stands beside this one.",
      agent_examples);
  std::string join_file;
  bool from_input = false;
  reader.add_text(both_spellings("--join-file"), join_file, "The join ticket, a file of mode 0600", "FILE");
  reader.add_toggle("--stdin", from_input, "The join ticket is the first line of the standard input");
  const auto read = TROUPE_TRY(parse(reader, given));
  if (read == parsed::help_printed) return exit_status::ok;
  if (from_input && !join_file.empty()) {
    return fail(error_code::flags_contradict, "--join-file and --stdin", "a node joins by one ticket",
                "leave one of them out");
  }
  if (from_input) return become_agent({"--stdin"});
  if (!join_file.empty()) return become_agent({"--join-file", join_file});
  return fail(error_code::missing_flag, "--join-file", "a node joins by a ticket", "add --join-file FILE or --stdin");
}

}  // namespace troupe::cli
