#pragma once

#include <memory>

#include "runtime/edge/transport.hpp"

namespace troupe {

/// Several kinds of edges behind one interface: `near` where both processes are on one host, `far` between two nodes,
/// `devices` (null: there is none) where both ends are on devices. The offer says which of them made it, in a word
/// before its own. contact() is that of `far`: `near` needs none, and that of `devices` is the same.
[[nodiscard]] std::shared_ptr<transport> make_mixed_transport(std::shared_ptr<transport> near,
                                                              std::shared_ptr<transport> far,
                                                              std::shared_ptr<transport> devices = nullptr);

}  // namespace troupe
