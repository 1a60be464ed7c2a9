#include "runtime/journal/journal_store.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include <unistd.h>

#include "messages/try.hpp"
#include "runtime/journal/journal_reader.hpp"

namespace troupe {
namespace {

journal_pins versioned(const journal_pins& pins) {
  journal_pins all = {{"journal version", std::string(journal_format::version)},
                      {journal_format::bits_pin, journal_format::bits_version}};
  all.insert(all.end(), pins.begin(), pins.end());
  return all;
}

std::string value_in(const journal_pins& pins, const std::string& name) {
  return find_pin(pins, name).value_or("nothing");
}

/// The flags that make the run the journal's own again, if such flags are all that it takes.
std::string fix_of(const journal_pins& stored, const std::vector<std::string>& differing) {
  constexpr std::array<std::string_view, 6> options = {"micro_batch", "threads", "optimize",
                                                       "metrics",     "seed",    "num_micro_batches"};
  std::string flags;
  for (const std::string& name : differing) {
    if (std::find(options.begin(), options.end(), name) == options.end()) {
      return "use the same, or start anew with another journal";
    }
    std::string flag = "--" + name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    flags.append(flags.empty() ? "" : " ").append(flag).append(" ").append(value_in(stored, name));
  }
  return "go on with " + flags + ", or start anew with another journal";
}

expected<void> compare(const std::string& path, const journal_pins& stored, const journal_pins& asked) {
  std::vector<std::string> names;
  for (const journal_pins* side : {&asked, &stored}) {
    for (const journal_pin& each : *side) {
      if (std::find(names.begin(), names.end(), each.name) == names.end()) names.push_back(each.name);
    }
  }
  std::vector<std::string> differing;
  std::string cause;
  for (const std::string& name : names) {
    const std::string was = value_in(stored, name);
    const std::string is = value_in(asked, name);
    if (was == is) continue;
    differing.push_back(name);
    cause.append(cause.empty() ? "" : "; ").append(name).append(" was ").append(was).append(" and is ").append(is);
  }
  if (differing.empty()) return {};
  return fail(error_code::journal_mismatch, path, cause, fix_of(stored, differing));
}

/// A run that was killed within the first write left a part of the header that this one would write.
expected<void> begin_anew_if_cut(journal_store& file, int fd, const std::string& path, const journal_pins& pins) {
  const journal_format::bytes header = journal_header(pins);
  journal_format::bytes found(header.size());
  const ssize_t got = ::pread(fd, found.data(), found.size(), 0);
  const bool is_ours = got >= 0 && static_cast<std::size_t>(got) < header.size() &&
                       std::equal(found.begin(), found.begin() + got, header.begin());
  if (!is_ours) {
    return fail(error_code::journal_damaged, path, "its header is not whole, and nothing stands behind it",
                "start anew with another journal");
  }
  return begin_journal(file, path, pins);
}

expected<void> hand_out(const journal_entry& entry, const std::string& path, const journal_listener& listener) {
  if (const auto* state = std::get_if<score>(&entry)) return listener.on_state(*state);
  if (listener.on_step) return listener.on_step(std::get<step_record>(entry));
  return fail(error_code::journal_damaged, path, "it has a step of a training among the states of an evaluation",
              "start anew with another journal");
}

expected<void> take_states(journal_reader& reader, journal_store& file, const std::string& path,
                           const journal_listener& listener) {
  for (;;) {
    const auto entry = TROUPE_TRY(reader.next());
    if (!entry) break;
    TROUPE_TRY(hand_out(*entry, path, listener));
  }
  // A driver before may have written them and not synced.
  int reason = file.cut(reader.whole_bytes());
  if (reason == 0) reason = file.sync();
  if (reason != 0) return journal_unwritable(path, reason);
  return {};
}

}  // namespace

tl::unexpected<error> journal_unwritable(const std::string& path, int reason) {
  return fail(error_code::journal_unwritable, path, std::strerror(reason),
              "name a file in a directory that can be written to, with space left");
}

std::optional<std::string> find_pin(const journal_pins& pins, const std::string& name) {
  const auto found = std::find_if(pins.begin(), pins.end(), [&](const journal_pin& each) { return each.name == name; });
  if (found != pins.end()) return found->value;
  // Journals that do not say it are from before there was a second.
  if (name == journal_format::bits_pin) return std::string(journal_format::bits_version);
  return std::nullopt;
}

journal_format::bytes journal_header(const journal_pins& pins) {
  return journal_format::encode_header(versioned(pins));
}

expected<void> begin_journal(journal_store& file, const std::string& path, const journal_pins& pins) {
  int reason = file.cut(0);
  if (reason == 0) reason = file.write(journal_header(pins));
  if (reason == 0) reason = file.sync();
  if (reason != 0) return journal_unwritable(path, reason);
  return {};
}

expected<void> take_over_journal(journal_store& file, int fd, const std::string& path, const journal_pins& pins,
                                 const journal_listener& listener, journal_format::record_check check) {
  auto reader = TROUPE_TRY(journal_reader::open(fd, path, check));
  const auto stored = TROUPE_TRY(reader.header());
  if (!stored) return begin_anew_if_cut(file, fd, path, pins);
  TROUPE_TRY(compare(path, *stored, versioned(pins)));
  return take_states(reader, file, path, listener);
}

}  // namespace troupe
