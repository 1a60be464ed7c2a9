#include "runtime/edge/tcp/tls_records.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe {
namespace {

constexpr std::size_t in_bytes_at_first = 4096;

tls_records& records_of(BIO* bio) {
  return *static_cast<tls_records*>(BIO_get_data(bio));
}

int read_record(BIO* bio, char* into, std::size_t size, std::size_t* done) {
  BIO_clear_retry_flags(bio);
  *done = records_of(bio).take(std::as_writable_bytes(std::span(into, size)));
  if (*done == 0) BIO_set_retry_read(bio);
  return *done > 0 ? 1 : 0;
}

int write_record(BIO* bio, const char* from, std::size_t size, std::size_t* done) {
  BIO_clear_retry_flags(bio);
  records_of(bio).put(std::as_bytes(std::span(from, size)));
  *done = size;
  return 1;
}

/// OpenSSL asks for a flush after a handshake's message, and leaves alone what it does not know.
long control(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

struct free_method {
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};

std::unique_ptr<BIO_METHOD, free_method> make_method() {
  std::unique_ptr<BIO_METHOD, free_method> made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "records"));
  const bool is_made = made && BIO_meth_set_read_ex(made.get(), read_record) == 1 &&
                       BIO_meth_set_write_ex(made.get(), write_record) == 1 &&
                       BIO_meth_set_ctrl(made.get(), control) == 1;
  TROUPE_CHECK(is_made, "OpenSSL fails for want of memory alone");
  return made;
}

}  // namespace

void tls_records::serve(ssl_st& ssl) {
  // never freed: connections of a launch come until its driver's process has ended
  static BIO_METHOD* const method = make_method().release();
  BIO* const made = BIO_new(method);
  TROUPE_CHECK(made != nullptr, "OpenSSL fails for want of memory alone");
  BIO_set_data(made, this);
  BIO_set_init(made, 1);
  SSL_set_bio(&ssl, made, made);
}

transfer tls_records::fill(wire_socket& from) {
  TROUPE_CHECK(in_begin_ == in_end_, "OpenSSL wants more when it has taken all");
  if (in_end_ == in_.size() && in_.size() < limits::tls_chunk_bytes)
    in_.resize(std::clamp(4 * in_.size(), in_bytes_at_first, limits::tls_chunk_bytes));
  const auto got = receive_some(from, in_);
  in_begin_ = 0;
  in_end_ = got.bytes;
  return got;
}

transfer tls_records::drain(wire_socket& to) {
  if (out_begin_ == out_.size()) return {};
  const std::array<std::span<const std::byte>, 1> rest{std::span(out_).subspan(out_begin_)};
  const auto sent = send_some(to, rest);
  out_begin_ += sent.bytes;
  if (out_begin_ == out_.size()) out_.resize(out_begin_ = 0);
  return {out_.size() - out_begin_, sent.failed};
}

std::size_t tls_records::take(std::span<std::byte> into) noexcept {
  const std::size_t size = std::min(into.size(), in_end_ - in_begin_);
  if (size == 0) return 0;  // there may be no buffer yet
  std::memcpy(into.data(), in_.data() + in_begin_, size);
  in_begin_ += size;
  return size;
}

void tls_records::put(std::span<const std::byte> record) {
  out_.insert(out_.end(), record.begin(), record.end());
}

}  // namespace troupe
