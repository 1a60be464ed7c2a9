#include "actors/link/link_sockets.hpp"

#include <sys/socket.h>

namespace troupe {

void link_sockets::know(int socket) {
  const std::lock_guard lock(mutex_);
  open_.insert(socket);
  if (is_cut_) ::shutdown(socket, SHUT_RDWR);
}

void link_sockets::forget(int socket) {
  const std::lock_guard lock(mutex_);
  open_.erase(socket);
}

void link_sockets::cut() {
  const std::lock_guard lock(mutex_);
  is_cut_ = true;
  for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
}

}  // namespace troupe
