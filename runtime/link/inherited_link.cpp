#include "runtime/link/inherited_link.hpp"

namespace troupe {

expected<std::shared_ptr<connection>> inherited_link::connect() {
  std::error_code failed;
  wire_socket socket(on_.core->executor);
  socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), socket_.get(), failed);
  if (failed) return fail(error_code::peer_lost, {}, "its socket cannot be used: " + failed.message());
  static_cast<void>(socket_.release());
  const auto made = on_.add(plain_stream(std::move(socket)), limits_of(on_.times, limits::link_first_word_timeout),
                            shared_from_this());
  speak();
  made->serve();
  if (side_ == link_side::driver) return made;
  talk(ping_frame{});
  made->assume(shared_from_this());
  return made;
}

expected<bool> inherited_link::greet(connection& from, const frame&) {
  talk(ping_frame{});
  from.assume(shared_from_this());
  return true;
}

}  // namespace troupe
