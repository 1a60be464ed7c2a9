#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "messages/score.hpp"
#include "runtime/journal/open_journal.hpp"

namespace troupe::testing {

/// A directory of its own, removed at the end.
class journal_directory {
 public:
  journal_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "test-journal-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  journal_directory(const journal_directory&) = delete;
  journal_directory& operator=(const journal_directory&) = delete;
  ~journal_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name = "run.journal") const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_content(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

inline const journal_pins sample_pins = {{"model", "abc"}, {"micro_batch", "64"}, {"threads", "2"}};

/// Different for every index, with words that need all of their bits.
inline score sample_state(std::uint64_t index, std::uint32_t sink = 0) {
  score state;
  state.id.index = index;
  state.sink = sink;
  state.samples = 64;
  state.words = {index, 0x3ff0000000000001ULL + index, ~index};
  return state;
}

struct resumed {
  expected<void> outcome;
  std::vector<score> states;
};

/// Resumes, and closes again.
inline resumed resume_all(const std::string& path, const journal_pins& pins = sample_pins) {
  resumed all;
  const auto opened = resume_journal(path, pins, [&](const score& state) {
    all.states.push_back(state);
    return expected<void>{};
  });
  all.outcome = opened ? (*opened)->close() : expected<void>(tl::make_unexpected(opened.error()));
  return all;
}

/// Whether the states are sample_state(0), sample_state(1), ... of one sink.
inline bool are_the_first(const std::vector<score>& states) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    const score wanted = sample_state(i);
    const score& found = states[i];
    if (found.id != wanted.id || found.sink != 0 || found.samples != wanted.samples || found.words != wanted.words) {
      return false;
    }
  }
  return true;
}

/// A whole journal of so many states; the bytes of its header alone if there are none.
inline std::string sample_journal(const std::string& path, std::uint64_t states) {
  std::filesystem::remove(path);
  const auto made = create_journal(path, sample_pins);
  for (std::uint64_t i = 0; made && i < states; ++i) static_cast<void>((*made)->append(sample_state(i)));
  if (made) static_cast<void>((*made)->close());
  return content_of(path);
}

}  // namespace troupe::testing
