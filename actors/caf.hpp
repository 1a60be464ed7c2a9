#pragma once

#include <chrono>
#include <string>
#include <utility>

#include <caf/all.hpp>

/// Everything of CAF 0.17 whose name changed in 1.x, in one place.
namespace troupe {

/// One line of an actor's interface. A message of rpc<In, Out> is answered, a message of cast<In...> is not.
template <class In, class Out>
using rpc = typename caf::replies_to<In>::template with<Out>;
template <class... In>
using cast = caf::reacts_to<In...>;

/// Send a message without waiting for an answer: tell from an actor, post from any thread.
template <class Self, class Handle, class... Parts>
void tell(Self* self, const Handle& to, Parts&&... parts) {
  self->send(to, std::forward<Parts>(parts)...);
}
template <class Handle, class... Parts>
void post(const Handle& to, Parts&&... parts) {
  caf::anon_send(to, std::forward<Parts>(parts)...);
}
template <class Self, class Handle, class... Parts>
void tell_after(Self* self, std::chrono::nanoseconds delay, const Handle& to, Parts&&... parts) {
  self->delayed_send(to, delay, std::forward<Parts>(parts)...);
}

/// A reference to an actor that does not keep the actor alive. Engines and listeners hold actors by it.
template <class Handle>
class weak_actor {
 public:
  explicit weak_actor(const Handle& actor) : address_(actor.address()) {}

  /// Sends a message, unless the actor has ended.
  template <class... Parts>
  void tell(Parts&&... parts) const {
    if (auto strong = caf::actor_cast<caf::strong_actor_ptr>(address_)) {
      caf::anon_send(caf::actor_cast<Handle>(strong), std::forward<Parts>(parts)...);
    }
  }

 private:
  caf::actor_addr address_;
};

}  // namespace troupe
