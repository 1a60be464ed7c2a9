#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "lane_end.hpp"
#include "runtime/process/fd_channel.hpp"

namespace troupe::bench {

/// How driver and peer agree on lanes and measurements, apart from the measured bytes: short texts, and descriptors.
class dialogue {
 public:
  /// `look_after_peer` as in patience.
  explicit dialogue(fd_channel channel, std::function<void()> look_after_peer = {});

  /// A text of up to limits::channel_tag_bytes_max bytes, any bytes. The descriptors stay the caller's.
  void say(const std::string& text, std::initializer_list<int> fds = {});
  /// Waits until `at_most` has passed. Throws transport_failure then, when the other side has ended, and for
  /// "failed: ...", which is what the other side says of an error.
  [[nodiscard]] fd_message hear(std::chrono::milliseconds at_most);
  /// As hear(); false when the other side has ended.
  [[nodiscard]] bool hear_more(fd_message& into, std::chrono::milliseconds at_most);
  /// hear(), whose text must be this one.
  void hear_word(const std::string& word, std::chrono::milliseconds at_most);

 private:
  void wait(short events, std::chrono::steady_clock::time_point limit) const;

  fd_channel channel_;
  const std::function<void()> look_after_peer_;
};

/// The blank-separated words of a text.
[[nodiscard]] std::vector<std::string> words_of(const std::string& text);

/// What `value` holds, or transport_failure with its error.
template <class T>
[[nodiscard]] T must(expected<T> value) {
  if (!value) throw transport_failure(to_string(value.error()));
  return std::move(*value);
}

}  // namespace troupe::bench
