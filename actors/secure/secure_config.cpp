#include <utility>

#include <caf/io/middleman.hpp>

#include <troupe/actors/secure/door_module.hpp>
#include <troupe/actors/secure/secure_config.hpp>
#include <troupe/actors/secure/wire_message.hpp>
#include <troupe/messages/check.hpp>

namespace troupe {

secure_config::secure_config(secure_identity identity, liveness times) : identity_(std::move(identity)), times_(times) {
  // Control messages are few and short: one worker that sleeps on a lock takes the least from the engines.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", std::size_t{1});
  set("middleman.heartbeat-interval", caf::timespan(times.heartbeat()));
  set("middleman.connection-timeout", caf::timespan(times.timeout));
  set("middleman.enable-automatic-connections", false);  // they would listen in plain text
  add_message_types<caf::id_block::troupe_wire>();
  load<caf::io::middleman>();
  load<door_module>();
}

const secure_config& secure_config::of(const caf::actor_system& system) {
  const auto* config = dynamic_cast<const secure_config*>(&system.config());
  TROUPE_CHECK(config != nullptr, "links are for systems made of a secure_config");
  return *config;
}

}  // namespace troupe
