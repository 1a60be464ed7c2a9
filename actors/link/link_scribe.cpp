#include "actors/link/link_scribe.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <caf/io/basp/header.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/stream_impl.hpp>
#include <caf/policy/tcp.hpp>
#include <sys/socket.h>

#include "actors/link/link_config.hpp"

namespace troupe {
namespace {

using caf::io::network::default_multiplexer;
using caf::io::network::native_socket;

/// The names and types of the bytes around a wire_message's, and the names of two nodes.
constexpr std::size_t frame_overhead_max = 4096;

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

class link_scribe : public caf::io::scribe {
 public:
  link_scribe(default_multiplexer& network, native_socket socket, const link_config& config)
      : scribe(caf::io::network::conn_hdl_from_socket(socket)),
        sockets_(config.sockets()),
        link_(config.watch().watch(socket)),
        stream_(network, socket) {
    sockets_.know(socket);
  }
  ~link_scribe() override {
    link_->closed();
    sockets_.forget(stream_.fd());
  }

  /// A header, then its payload if it has one, as CAF's broker asks for them.
  bool consume(caf::execution_unit* context, const void* bytes, std::size_t size) override {
    if (is_refused_) return true;
    link_->heard();
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
  // Neither end has a name.
  std::string addr() const override { return {}; }
  std::uint16_t port() const override { return 0; }
  void add_to_loop() override { stream_.activate(this); }
  void remove_from_loop() override { stream_.passivate(); }

 private:
  /// What still comes is dropped; the end of the connection is then told as any other loss.
  bool refuse() {
    is_refused_ = true;
    ::shutdown(stream_.fd(), SHUT_RDWR);
    return true;
  }

  link_sockets& sockets_;
  const std::shared_ptr<watched_link> link_;
  bool is_launched_ = false;
  bool is_payload_next_ = false;
  bool is_refused_ = false;
  caf::io::network::stream_impl<caf::policy::tcp> stream_;
};

}  // namespace

caf::io::scribe_ptr make_link_scribe(caf::actor_system& system, unique_fd socket) {
  auto& network = dynamic_cast<default_multiplexer&>(system.middleman().backend());
  return caf::make_counted<link_scribe>(network, socket.release(), link_config::of(system));
}

}  // namespace troupe
