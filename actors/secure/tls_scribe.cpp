#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <caf/io/basp/header.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/interfaces.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <troupe/actors/secure/secure_config.hpp>
#include <troupe/actors/secure/tls_scribe.hpp>

namespace troupe {
namespace {

using caf::io::network::default_multiplexer;
using caf::io::network::native_socket;
using caf::io::network::rw_state;

/// The names and types of the bytes around a wire_message's, and the names of two nodes.
constexpr std::size_t frame_overhead_max = 4096;

/// How CAF's stream reads and writes. `success` with no bytes: try again when poll() tells.
class tls_policy {
 public:
  explicit tls_policy(tls_session session) : session_(std::move(session)) {}

  rw_state read_some(std::size_t& result, native_socket, void* bytes, std::size_t size) {
    return outcome(session_.read(bytes, size, result));
  }
  rw_state write_some(std::size_t& result, native_socket, const void* bytes, std::size_t size) {
    result = 0;
    if (size == 0) return rw_state::indeterminate;
    return outcome(session_.write(bytes, size, result));
  }
  bool must_read_more(native_socket, std::size_t threshold) { return session_.pending() >= threshold; }

 private:
  // TLS 1.3 has no renegotiation: a write never waits for a read, which would keep CAF's thread busy.
  static rw_state outcome(tls_state state) {
    return state == tls_state::closed || state == tls_state::failed ? rw_state::failure : rw_state::success;
  }

  tls_session session_;
};

/// What a frame's header announces: its first byte says what it is, and four bytes in network order how much follows.
struct frame_header {
  caf::io::basp::message_type operation;
  std::uint32_t payload_size;

  static frame_header read(const unsigned char* bytes) {
    const auto at = [&](int i) { return std::uint32_t{bytes[i]} << (8 * (7 - i)); };
    return {static_cast<caf::io::basp::message_type>(bytes[0]), at(4) | at(5) | at(6) | at(7)};
  }

  /// CAF dereferences the payload of a handshake that has none, and allocates up to 4 GiB before they come.
  [[nodiscard]] bool is_hostile() const {
    using caf::io::basp::message_type;
    const bool is_handshake =
        operation == message_type::server_handshake || operation == message_type::client_handshake;
    return (is_handshake && payload_size == 0) || payload_size > limits::wire_message_bytes_max + frame_overhead_max;
  }
};

class tls_scribe : public caf::io::scribe {
 public:
  tls_scribe(default_multiplexer& network, native_socket socket, tls_session session)
      : scribe(caf::io::network::conn_hdl_from_socket(socket)), stream_(network, socket, std::move(session)) {}

  /// A header, then its payload if it has one, as CAF's broker asks for them.
  bool consume(caf::execution_unit* context, const void* bytes, std::size_t size) override {
    if (is_refused_) return true;
    if (is_payload_next_) {
      is_payload_next_ = false;
    } else {
      const auto header = frame_header::read(static_cast<const unsigned char*>(bytes));
      if (size != caf::io::basp::header_size || header.is_hostile()) return refuse();
      is_payload_next_ = header.payload_size > 0;
    }
    return scribe::consume(context, bytes, size);
  }
  void configure_read(caf::io::receive_policy::config config) override {
    stream_.configure_read(config);
    if (!is_launched_) stream_.start(this);
    is_launched_ = true;
  }
  void graceful_shutdown() override {
    stream_.graceful_shutdown();
    detach(&stream_.backend(), false);
  }
  void ack_writes(bool enable) override { stream_.ack_writes(enable); }
  std::vector<char>& wr_buf() override { return stream_.wr_buf(); }
  std::vector<char>& rd_buf() override { return stream_.rd_buf(); }
  void flush() override { stream_.flush(this); }
  std::string addr() const override {
    const auto found = caf::io::network::remote_addr_of_fd(stream_.fd());
    return found ? *found : std::string{};
  }
  std::uint16_t port() const override {
    const auto found = caf::io::network::remote_port_of_fd(stream_.fd());
    return found ? *found : std::uint16_t{0};
  }
  void add_to_loop() override { stream_.activate(this); }
  void remove_from_loop() override { stream_.passivate(); }

 private:
  /// What still comes is dropped; the end of the connection is then told as any other loss.
  bool refuse() {
    is_refused_ = true;
    ::shutdown(stream_.fd(), SHUT_RDWR);
    return true;
  }

  bool is_launched_ = false;
  bool is_payload_next_ = false;
  bool is_refused_ = false;
  caf::io::network::stream_impl<tls_policy> stream_;
};

}  // namespace

caf::io::scribe_ptr make_tls_scribe(caf::actor_system& system, tls_session session) {
  auto& network = dynamic_cast<default_multiplexer&>(system.middleman().backend());
  // Bytes that the peer does not take end the connection too, or the system's end would wait for them.
  const auto patience = static_cast<unsigned>(secure_config::of(system).times().timeout.count());
  ::setsockopt(session.fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof(patience));
  const int socket = session.release_socket();
  return caf::make_counted<tls_scribe>(network, socket, std::move(session));
}

}  // namespace troupe
