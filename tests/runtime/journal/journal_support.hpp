#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>
#include <zlib.h>

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

/// Different for every number, with words that need all of their bits. The decision 3 was not applied.
inline step_record sample_step(std::uint64_t number) {
  step_record step;
  step.number = number;
  step.decision.call = 2 * number;
  step.decision.step = number > 3 ? number - 1 : number;
  step.decision.is_applied = number != 3;
  step.decision.gradient_scale = 1.0 / static_cast<double>(3 + number);
  step.decision.learning_rate = 0.1 / static_cast<double>(1 + number);
  step.weight = static_cast<double>(number) + 0.1;
  step.norm = 1e-300;
  step.folded = {number, 0x3ff0000000000001ULL + number};
  return step;
}

struct resumed {
  expected<void> outcome;
  std::vector<score> states;
  std::vector<step_record> steps = {};
};

/// Resumes, and closes again.
inline resumed resume_all(const std::string& path, const journal_pins& pins = sample_pins) {
  resumed all;
  const auto on_state = [&](const score& state) {
    all.states.push_back(state);
    return expected<void>{};
  };
  const auto on_step = [&](const step_record& step) {
    all.steps.push_back(step);
    return expected<void>{};
  };
  const auto opened = resume_journal(path, pins, {on_state, on_step});
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

inline std::string four_bytes(std::uint32_t value) {
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>((value >> shift) & 0xFFU);
  return text;
}

inline std::string checksum(const std::string& content) {
  return four_bytes(static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()))));
}

/// A record as docs/journal.md describes it, made without our own encoder.
inline std::string record(const std::string& payload) {
  const std::string length = four_bytes(static_cast<std::uint32_t>(payload.size()));
  return length + checksum(length) + payload + checksum(payload);
}

}  // namespace troupe::testing
