#include "messages/limits.hpp"
#include "peer.hpp"

namespace troupe::bench {
namespace {

/// The driver is busy with other lanes meanwhile, but never for so long.
constexpr std::chrono::minutes idle_limit{10};

struct order {
  std::string verb;
  lane_end* lane = nullptr;
  std::size_t bytes = 0;
  std::uint64_t count = 0;
};

order order_of(const std::string& text, const lane_ends& ends) {
  const auto words = words_of(text);
  if (words.size() != 4) throw transport_failure("an order has four words, not '" + text + "'");
  const auto found = ends.find(words[1]);
  if (found == ends.end()) throw transport_failure("there is no lane '" + words[1] + "'");
  return {words[0], found->second.get(), std::stoull(words[2]), std::stoull(words[3])};
}

void turn(const order& given) {
  expect_source(given.lane->receive(), given.bytes);
  given.lane->send();
}

void ping(dialogue& driver, const order& given) {
  given.lane->begin({given.bytes, given.count, given.count});
  driver.say("ready");
  for (std::uint64_t i = 0; i < given.count; ++i) turn(given);
  given.lane->end();
}

void stream(dialogue& driver, const order& given) {
  given.lane->begin({given.bytes, 1, given.count + 1});
  driver.say("ready");
  turn(given);
  for (std::uint64_t i = 0; i < given.count; ++i) expect_source(given.lane->receive(), given.bytes);
  driver.say("done " +
             std::to_string(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1)));
  given.lane->end();
}

void obey(dialogue& driver, fd_message heard, lane_ends& ends, const patience& wait) {
  if (heard.tag.starts_with("join ")) {
    lane_side side{driver, wait};
    const std::string name = words_of(heard.tag).at(1);
    ends[name] = kind_named(name).join(side, std::move(heard));
    return;
  }
  const order given = order_of(heard.tag, ends);
  if (given.verb == "ping") return ping(driver, given);
  if (given.verb == "stream") return stream(driver, given);
  throw transport_failure("there is no order '" + given.verb + "'");
}

}  // namespace

void serve(dialogue& driver, lane_ends ends, const patience& wait) {
  try {
    for (fd_message heard; driver.hear_more(heard, idle_limit); heard = {}) obey(driver, std::move(heard), ends, wait);
    for (const auto& [name, lane] : ends) lane->close();
  } catch (const std::exception& caught) {
    const std::string told = std::string("failed: ") + caught.what();
    driver.say(told.substr(0, limits::channel_tag_bytes_max));
    throw;
  }
}

}  // namespace troupe::bench
