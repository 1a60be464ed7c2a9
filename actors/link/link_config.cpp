#include "actors/link/link_config.hpp"

#include <caf/io/middleman.hpp>

#include "actors/link/wire_message.hpp"
#include "messages/check.hpp"

namespace troupe {
namespace {

/// Cuts the links of a system that ends, before CAF's network stops: that waits for bytes on their way, which a frozen
/// peer would never take. Stands in the place of a module that CAF 0.17 has no code for.
class link_cutter : public caf::actor_system::module {
 public:
  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>) {
    return new link_cutter(system);
  }
  explicit link_cutter(caf::actor_system& system) : system_(system) {}

  // What can tell an error has started it before.
  void start() override { static_cast<void>(link_config::of(system_).watch().start()); }
  void init(caf::actor_system_config&) override {}
  void stop() override { link_config::of(system_).sockets().cut(); }
  [[nodiscard]] id_t id() const override { return network_manager; }
  void* subtype_ptr() override { return this; }

 private:
  caf::actor_system& system_;
};

}  // namespace

link_config::link_config(liveness times) : times_(times) {
  // Control messages are few and short: one worker that sleeps on a lock takes the least from the engines.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", std::size_t{1});
  set("middleman.heartbeat-interval", caf::timespan(times.heartbeat()));
  // CAF's own judge takes its process's freeze for the other end's: link_watch stands in its place.
  set("middleman.connection-timeout", caf::timespan(std::chrono::hours{24 * 366 * 100}));
  set("middleman.enable-automatic-connections", false);  // they would listen
  add_message_types<caf::id_block::troupe_wire>();
  load<caf::io::middleman>();
  load<link_cutter>();
}

const link_config& link_config::of(const caf::actor_system& system) {
  const auto* config = dynamic_cast<const link_config*>(&system.config());
  TROUPE_CHECK(config != nullptr, "links are for systems made of a link_config");
  return *config;
}

}  // namespace troupe
