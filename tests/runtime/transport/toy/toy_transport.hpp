// A transport written from docs/edges.md alone, to show what a new one takes: this folder, and one row.
#pragma once

#include "runtime/transport/transport_table.hpp"

namespace troupe::testing {

/// Slots of a fixed size in shared memory, copied on both sides.
extern const transport_row toy_row;

}  // namespace troupe::testing
