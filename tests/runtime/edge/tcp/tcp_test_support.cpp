#include "tcp_test_support.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../edge_contract_support.hpp"
#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe::testing {

std::uint64_t viewed_payload::value() const {
  std::uint64_t number = 0;
  for (const std::byte b : bytes.first(8)) number = number << 8u | std::to_integer<std::uint64_t>(b);
  return number;
}

std::size_t number_codec::size_of(const payload& value) const {
  const auto* number = dynamic_cast<const number_payload*>(&value);
  return number == nullptr ? 8 : number->size;
}

void number_codec::write(const payload& value, std::span<std::byte> into) const {
  const auto* own = dynamic_cast<const number_payload*>(&value);
  const std::uint64_t number = own ? own->value : dynamic_cast<const counted_payload&>(value).value;
  for (std::size_t i = 0; i < 8; ++i) into[i] = static_cast<std::byte>(number >> (56 - 8 * i));
  for (std::size_t i = 8; i < into.size(); ++i) into[i] = static_cast<std::byte>(i & 0xffu);
}

expected<payload_ptr> number_codec::read(std::span<const std::byte> from, std::shared_ptr<const void> owner) const {
  TROUPE_CHECK(reinterpret_cast<std::uintptr_t>(from.data()) % limits::payload_alignment == 0, "promised to codecs");
  if (from.size() < 8) return fail(error_code::wire_malformed, "payload", "less than a number");
  return std::make_shared<const viewed_payload>(from, std::move(owner));
}

std::function<void(const error&)> error_box::put() {
  return [this](const error& e) {
    const std::scoped_lock lock(guard_);
    errors_.push_back(e);
    filled_.notify_all();
  };
}

std::optional<error> error_box::take() {
  std::unique_lock lock(guard_);
  if (!filled_.wait_for(lock, 20s, [&] { return errors_.size() > taken_; })) return std::nullopt;
  return errors_[taken_++];
}

std::size_t error_box::count() const {
  const std::scoped_lock lock(guard_);
  return errors_.size();
}

tcp_endpoint_options test_options(bool with_tls) {
  tcp_endpoint_options options;
  options.codec = std::make_shared<number_codec>();
  if (with_tls) options.tls = run_credentials();
  return options;
}

std::unique_ptr<tcp_endpoint> must_open(tcp_endpoint_options options) {
  auto opened = tcp_endpoint::open(std::move(options));
  if (!opened) ADD_FAILURE() << to_string(opened.error());
  return opened ? std::move(*opened) : nullptr;
}

raw_client::raw_client(std::uint16_t port, const char* from) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (from != nullptr) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    EXPECT_EQ(::inet_pton(AF_INET, from, &own.sin_addr), 1);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof(own)), 0);
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
}

raw_client::~raw_client() {
  ::close(fd_);
}

bool raw_client::send(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

bool raw_client::send(const std::string& text) const {
  return send(std::as_bytes(std::span(text)));
}

std::size_t raw_client::receive(std::span<std::byte> into) const {
  const auto got = ::recv(fd_, into.data(), into.size(), 0);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

frame raw_client::hear() const {
  std::vector<std::byte> text;
  const auto take = [&](std::size_t count) {
    for (std::byte one{}; count > 0; --count) {
      if (receive(std::span(&one, 1)) == 0) throw std::runtime_error("the connection ended within a frame");
      text.push_back(one);
    }
  };
  take(frame_prelude_bytes);
  const auto prelude = decode_prelude(text).value();
  take(prelude.header_bytes);
  return decode_head(text, prelude).value();
}

std::string raw_client::drain() const {
  std::string all;
  std::array<std::byte, 4096> some{};
  while (const std::size_t got = receive(some)) {
    for (const std::byte b : std::span(some).first(got)) all.push_back(static_cast<char>(b));
  }
  return all;
}

listening_socket::listening_socket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&at), size), 0);
  EXPECT_EQ(::listen(fd_, 1), 0);
  EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size), 0);
  port_ = ntohs(at.sin_port);
}

listening_socket::~listening_socket() {
  ::close(fd_);
}

int listening_socket::accept() const {
  return ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
}

}  // namespace troupe::testing
