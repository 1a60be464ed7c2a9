#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe::late {

/// Up to there a stream has work.
struct stream_point {
  std::int64_t stream = 0;
  std::uint64_t position = 0;
};

/// The streams of a device that is late on purpose: nothing is done when it is given, but later, one piece at each
/// has_passed(), or all pieces at synchronize(). Data read too early is therefore not there, in every run alike. Work
/// runs in the thread of these calls. Threads: any.
class late_streams {
 public:
  using work = std::function<void()>;

  [[nodiscard]] std::int64_t make();
  void give(std::int64_t stream, work what);
  /// What `stream` is given from now on comes after `point`.
  void wait_for(std::int64_t stream, stream_point point);
  [[nodiscard]] stream_point now(std::int64_t stream);
  /// What the stream is given is kept, and not done, until end_recording(). Its events, and a host that waits for it,
  /// break the recording off, and throw.
  void begin_recording(std::int64_t stream);
  /// Nothing where it was broken off.
  [[nodiscard]] std::optional<std::vector<work>> end_recording(std::int64_t stream);
  /// From now on has_passed() throws.
  void fail();
  /// Does one piece of work, and says whether all up to the point was done before.
  [[nodiscard]] bool has_passed(stream_point point);
  /// Does all up to the point. Counted: a host that waits for its device.
  void synchronize(stream_point point);
  [[nodiscard]] std::uint64_t synchronizations();

 private:
  struct stream_state {
    bool is_recording = false;
    bool is_broken_off = false;
    std::vector<work> recorded;
    std::deque<work> waiting;
    std::uint64_t given = 0;
    std::uint64_t done = 0;
  };
  void refuse_while_recording(std::int64_t stream);
  void do_one(stream_state& of);
  void do_until(stream_point point);

  std::recursive_mutex guard_;
  std::map<std::int64_t, stream_state> streams_;
  std::int64_t next_ = 1;
  std::uint64_t synchronizations_ = 0;
  bool has_failed_ = false;
};

/// The one of this process.
[[nodiscard]] late_streams& streams();

}  // namespace troupe::late
