#pragma once

#include <mutex>
#include <set>

namespace troupe {

/// The sockets of a system's links, which CAF's network thread owns, reads and closes. Threads: any.
class link_sockets {
 public:
  /// Open until forget(). After cut() the socket is shut down at once.
  void know(int socket);
  /// Before it is closed, so that no other descriptor of the same number is meant.
  void forget(int socket);
  /// Both directions of all of them end, now and from now on: peers and CAF see a closed connection.
  void cut();

 private:
  std::mutex mutex_;
  std::set<int> open_;
  bool is_cut_ = false;
};

}  // namespace troupe
