#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <caf/actor_system.hpp>

#include <troupe/actors/secure/secure_door.hpp>

namespace troupe {

/// Owns the doors of an actor system and closes them before CAF's network stops, as they hand connections to it. Stands
/// in the place of a module that CAF 0.17 has no code for.
class door_module : public caf::actor_system::module {
 public:
  static caf::actor_system::module* make(caf::actor_system&, caf::detail::type_list<>) { return new door_module; }

  /// Of a system made of a secure_config.
  static door_module& of(caf::actor_system& system) {
    // What subtype_ptr() gave, under the name of a class that nobody defines.
    return reinterpret_cast<door_module&>(system.network_manager());
  }

  /// From any thread, until the system's destructor is called.
  void keep(std::unique_ptr<secure_door> door) {
    const std::lock_guard lock(mutex_);
    doors_.push_back(std::move(door));
  }

  void start() override {}
  void init(caf::actor_system_config&) override {}
  void stop() override { doors_.clear(); }
  [[nodiscard]] id_t id() const override { return network_manager; }
  void* subtype_ptr() override { return this; }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<secure_door>> doors_;
};

}  // namespace troupe
