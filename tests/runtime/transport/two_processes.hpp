// Support of the transport contract: two processes with edges between them. One makes the offers, as a driver does.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include <poll.h>

#include "runtime/process/fd_channel.hpp"
#include "runtime/telemetry/shared_page.hpp"
#include "runtime/transport/transport_table.hpp"
#include "tests/runtime/edge/shm/shm_process_support.hpp"

namespace troupe::testing {

enum class role : std::uint8_t { driver, worker };

/// Made before the fork.
struct meeting_place {
  shared_page pages[2] = {std::move(*shared_page::create()), std::move(*shared_page::create())};
  std::pair<fd_channel, unique_fd> ends = std::move(*fd_channel::make());
};

/// What an end has told.
struct end_news {
  std::promise<error> lost;
  std::atomic<std::uint32_t> damages{0};

  [[nodiscard]] std::optional<error> wait_for_loss() {
    auto told = lost.get_future();
    return told.wait_for(stall_limit) == std::future_status::ready ? std::optional(told.get()) : std::nullopt;
  }
};

/// One of the processes, made after the fork: both do the same steps in the same order.
class party {
 public:
  party(role which, meeting_place& place, const transport_row& row)
      : role_(which),
        channel_(which == role::driver ? std::move(place.ends.first)
                                       : std::move(*fd_channel::adopt(std::move(place.ends.second), ::getppid()))),
        own_bell_(place.pages[which == role::worker].bell()),
        peer_bell_(place.pages[which == role::driver].bell()),
        reach_(row.leaves_host ? edge_reach::network : edge_reach::host),
        edges_(std::move(*row.between({std::make_shared<const pattern_codec>(), std::nullopt}))) {
    say(std::to_string(edges_->contact()));
    peer_contact_ = std::stoull(hear().tag);
  }

  [[nodiscard]] transport& edges() const { return *edges_; }
  [[nodiscard]] doorbell& bell() const { return *own_bell_; }
  [[nodiscard]] std::uint64_t peer_contact() const { return peer_contact_; }

  /// Of the next edge of both processes.
  [[nodiscard]] edge_site site(std::size_t channel, std::uint32_t slots, epoch_number epoch = 1,
                               const std::shared_ptr<end_news>& news = std::make_shared<end_news>()) {
    edge_site made{.epoch = epoch,
                   .channel = channel,
                   .shape = {.slots = slots},
                   .peer = {.node = {}, .address = {}, .number = peer_contact_}};
    made.shape.producer_bell = made.shape.consumer_bell = own_bell_.get();
    made.offer = role_ == role::driver ? offer(made.shape) : taken();
    if (made.offer.memory) made.peer_bell = peer_bell_;
    made.on_lost = [news](const error& why) { news->lost.set_value(why); };
    made.on_damaged = [news](const error&) { ++news->damages; };
    return made;
  }
  /// Waits for the other process to come here as well.
  void meet() {
    say("here");
    static_cast<void>(hear());
  }

 private:
  [[nodiscard]] edge_offer offer(const edge_options& shape) {
    edge_offer made = std::move(*edges_->offer(shape, reach_));
    std::string words = "offer";
    for (const std::uint64_t each : made.words) words += ' ' + std::to_string(each);
    say(words, made.memory);
    return made;
  }
  [[nodiscard]] edge_offer taken() {
    fd_message got = hear();
    edge_offer made;
    std::istringstream words(got.tag.substr(5));
    for (std::uint64_t each = 0; words >> each;) made.words.push_back(each);
    if (!got.fds.empty()) made.memory.emplace(std::move(got.fds.front()));
    return made;
  }
  void say(const std::string& tag, const std::optional<blob>& memory = {}) {
    const int descriptor = memory ? memory->descriptor() : -1;
    const auto sent = channel_.send(tag, {&descriptor, memory ? 1u : 0u});
    if (!sent || *sent != channel_status::done) throw std::runtime_error("the other process hears nothing");
  }
  fd_message hear() {
    pollfd ready{channel_.fd(), POLLIN, 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(stall_limit);
    if (::poll(&ready, 1, static_cast<int>(limit.count())) != 1)
      throw std::runtime_error("the other process is silent");
    auto got = channel_.receive();
    if (!got || got->status != channel_status::done) throw std::runtime_error("the other process is gone");
    return std::move(got->message);
  }

  const role role_;
  fd_channel channel_;
  const std::shared_ptr<doorbell> own_bell_;
  const std::shared_ptr<doorbell> peer_bell_;
  const edge_reach reach_;
  const std::shared_ptr<transport> edges_;
  std::uint64_t peer_contact_ = 0;
};

}  // namespace troupe::testing
