#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

struct progress_state {
  std::uint64_t done = 0;
  /// 0 where it is not known.
  std::uint64_t total = 0;
  double elapsed_seconds = 0;
  double units_per_second = 0;
  /// That were injected.
  std::uint64_t faults = 0;
  std::string_view unit = "samples";
  /// One more thing to say; empty: nothing.
  std::string note = {};
};

/// tqdm's look, at most `width` columns:
///  42%|████▏     | 4200/10000 [00:01<00:02, 3121.2 samples/s]
std::string progress_bar(const progress_state& state, std::size_t width);

/// For a pipe: "4200/10000 samples (42%), 3121.2 samples/s".
std::string progress_line(const progress_state& state);

/// "00:09", "12:34", "1:02:03"; "?" for a time that is not known.
std::string clock_text(double seconds);

/// What to write next to a terminal or a pipe, and when: a terminal's bar is drawn at most 10 times a second; a pipe
/// gets a line at most once a second and per 10 %, and one after a minute of silence. Used by one thread at a time.
class progress_printer {
 public:
  struct options {
    bool terminal = false;
    std::size_t width = 80;
  };
  explicit progress_printer(options look) : look_(look) {}

  /// The bytes to write now; empty if nothing is due.
  std::string update(const progress_state& state);
  /// The last state, so that a bar ends where the work ended, and its line with a newline.
  std::string finish();

 private:
  [[nodiscard]] bool is_due(const progress_state& state) const;

  options look_;
  progress_state last_;
  bool any_ = false;
  bool shown_ = false;
  std::uint64_t shown_done_ = 0;
  double shown_seconds_ = 0;
  std::uint64_t shown_tenths_ = 0;
};

}  // namespace troupe
