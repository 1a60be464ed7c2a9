#pragma once

#include <memory>

#include "runtime/link/link_end.hpp"
#include "runtime/link/link_thread.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {

/// An end of make_link_sockets(). The worker says the first word, a ping, and is heard from then on; the driver answers
/// it with one.
class inherited_link final : public link_end {
 public:
  /// `on` lives as long as its core is not cut.
  inherited_link(link_thread& on, unique_fd socket, link_side side)
      : link_end(on.core), on_(on), side_(side), socket_(std::move(socket)) {}

 protected:
  expected<std::shared_ptr<connection>> connect() override;
  expected<bool> greet(connection& from, const frame& head) override;

 private:
  link_thread& on_;
  const link_side side_;
  unique_fd socket_;
};

}  // namespace troupe
