#include "runtime/edge/tcp/disturbed_stream.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <asio/error.hpp>
#include <asio/steady_timer.hpp>

#include "messages/limits.hpp"
#include "runtime/edge/tcp/frame.hpp"

namespace troupe {
namespace {

/// Finds the payloads in a stream of frames, as its bytes pass.
class payload_finder {
 public:
  /// How many of `bytes` belong to one part of a frame: of them, at least one.
  [[nodiscard]] std::size_t pass(std::span<const std::byte> bytes) {
    if (is_lost_) return bytes.size();
    if (header_left_ > 0) return take(header_left_, bytes);
    if (payload_left_ > 0) return take(payload_left_, bytes);
    const std::size_t count = std::min(bytes.size(), prelude_.size() - known_);
    std::copy_n(bytes.begin(), count, prelude_.begin() + static_cast<std::ptrdiff_t>(known_));
    known_ += count;
    if (known_ == prelude_.size()) begin();
    return count;
  }
  /// A payload was announced since the last time.
  [[nodiscard]] bool take_news() { return std::exchange(is_news_, false); }
  /// The next byte is one of a payload.
  [[nodiscard]] bool is_in_payload() const { return !is_lost_ && header_left_ == 0 && payload_left_ > 0; }

 private:
  static std::size_t take(std::uint64_t& left, std::span<const std::byte> bytes) {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left, bytes.size()));
    left -= count;
    return count;
  }
  void begin() {
    known_ = 0;
    const auto read = decode_prelude(prelude_);
    is_lost_ = !read;  // the decoder says why
    if (is_lost_) return;
    header_left_ = read->header_bytes;
    payload_left_ = read->payload_bytes;
    is_news_ = payload_left_ > 0;
  }

  std::array<std::byte, frame_prelude_bytes> prelude_{};
  std::size_t known_ = 0;
  std::uint64_t header_left_ = 0;
  std::uint64_t payload_left_ = 0;
  bool is_news_ = false;
  bool is_lost_ = false;
};

class disturbed_stream final : public wire_stream {
 public:
  disturbed_stream(std::unique_ptr<wire_stream> stream, std::shared_ptr<arrival_faults> faults,
                   disturbed_content content)
      : stream_(std::move(stream)), faults_(std::move(faults)), has_payloads_(content == disturbed_content::edge) {}

  void handshake(bool as_server, on_done done) override { stream_->handshake(as_server, std::move(done)); }
  wire_socket& socket() noexcept override { return stream_->socket(); }
  [[nodiscard]] x509_st* peer_certificate() noexcept override { return stream_->peer_certificate(); }

  transfer read_some(std::span<std::byte> into) override {
    close_what_is_due();
    if (is_cut_ || faults_->is_closed(flow::in)) return {0, asio::error::eof};
    if (faults_->is_silenced(flow::in)) return {};
    transfer got = stream_->read_some(into);
    if (has_payloads_) got.bytes = suffer(into.first(got.bytes));
    close_what_is_due();
    return is_cut_ && got.bytes == 0 ? transfer{0, asio::error::eof} : got;
  }
  transfer write_some(pieces from) override {
    close_what_is_due();
    return is_dumb() ? transfer{} : stream_->write_some(from);
  }
  transfer flush() override { return stream_->flush(); }

  void wait_readable(on_done done) override {
    if (faults_->is_silenced(flow::in)) return look_again(std::move(done));
    stream_->wait_readable(std::move(done));
  }
  void wait_writable(on_done done) override {
    if (is_dumb()) return look_again(std::move(done));
    stream_->wait_writable(std::move(done));
  }

 private:
  [[nodiscard]] bool is_dumb() const { return faults_->is_closed(flow::out) || faults_->is_silenced(flow::out); }

  void look_again(on_done done) {
    auto timer = std::make_shared<asio::steady_timer>(socket().get_executor(), limits::fault_look_interval);
    timer->async_wait([timer, done = std::move(done)](std::error_code) { done({}); });
  }

  void close_what_is_due() {
    if (!faults_->is_closed(flow::out) || std::exchange(is_shut_, true)) return;
    std::error_code ignored;
    socket().shutdown(wire_socket::shutdown_send, ignored);
  }

  /// How many of them arrive.
  std::size_t suffer(std::span<std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      if (finder_.is_in_payload()) {
        const auto what = std::exchange(due_, arrival_faults::damage::none);
        if (what == arrival_faults::damage::flipped) bytes[at] ^= std::byte{1};
        is_cut_ = what == arrival_faults::damage::cut;
        if (is_cut_) return at;
      }
      at += finder_.pass(bytes.subspan(at));
      if (finder_.take_news()) due_ = faults_->next_message();
    }
    return bytes.size();
  }

  const std::unique_ptr<wire_stream> stream_;
  const std::shared_ptr<arrival_faults> faults_;
  const bool has_payloads_;
  payload_finder finder_;
  arrival_faults::damage due_ = arrival_faults::damage::none;
  bool is_cut_ = false;
  bool is_shut_ = false;
};

}  // namespace

std::unique_ptr<wire_stream> disturb_stream(std::unique_ptr<wire_stream> stream, std::shared_ptr<arrival_faults> faults,
                                            disturbed_content content) {
  return std::make_unique<disturbed_stream>(std::move(stream), std::move(faults), content);
}

}  // namespace troupe
