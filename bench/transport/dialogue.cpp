#include "dialogue.hpp"

#include <algorithm>
#include <sstream>

#include <poll.h>

namespace troupe::bench {
namespace {

using clock_type = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds say_limit = 10s;
/// Between two looks at the peer.
constexpr std::chrono::milliseconds poll_max = 200ms;
const std::string complaint = "failed: ";

}  // namespace

dialogue::dialogue(fd_channel channel, std::function<void()> look_after_peer)
    : channel_(std::move(channel)), look_after_peer_(std::move(look_after_peer)) {}

void dialogue::say(const std::string& text, std::initializer_list<int> fds) {
  const auto limit = clock_type::now() + say_limit;
  for (;;) {
    const channel_status status = must(channel_.send(text, std::span(fds.begin(), fds.size())));
    if (status == channel_status::done) return;
    if (status == channel_status::closed) throw transport_failure("the other side has ended");
    wait(POLLOUT, limit);
  }
}

bool dialogue::hear_more(fd_message& into, std::chrono::milliseconds at_most) {
  const auto limit = clock_type::now() + at_most;
  for (;;) {
    channel_input input = must(channel_.receive());
    if (input.status == channel_status::closed) return false;
    if (input.status == channel_status::empty) {
      wait(POLLIN, limit);
      continue;
    }
    into = std::move(input.message);
    if (into.tag.starts_with(complaint)) throw transport_failure("the peer " + into.tag);
    return true;
  }
}

fd_message dialogue::hear(std::chrono::milliseconds at_most) {
  fd_message heard;
  if (!hear_more(heard, at_most)) {
    if (look_after_peer_) look_after_peer_();
    throw transport_failure("the other side has ended");
  }
  return heard;
}

void dialogue::hear_word(const std::string& word, std::chrono::milliseconds at_most) {
  const fd_message heard = hear(at_most);
  if (heard.tag != word) throw transport_failure("the other side said '" + heard.tag + "' instead of '" + word + "'");
}

void dialogue::wait(short events, clock_type::time_point limit) const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(limit - clock_type::now());
  if (left <= 0ms) throw transport_failure("the other side said nothing in time");
  pollfd ready{channel_.fd(), events, 0};
  if (::poll(&ready, 1, static_cast<int>(std::min(left, poll_max).count())) == 0 && look_after_peer_)
    look_after_peer_();
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace troupe::bench
