#pragma once

#include <memory>

#include "runtime/edge/transport.hpp"

namespace troupe {

/// Two kinds of edges behind one interface, for a run on several nodes: `near` where both processes are on one host,
/// `far` between two nodes. The offer says which of them made it, in a word before its own. contact() is that of `far`:
/// `near` needs none.
[[nodiscard]] std::shared_ptr<transport> make_mixed_transport(std::shared_ptr<transport> near,
                                                              std::shared_ptr<transport> far);

}  // namespace troupe
