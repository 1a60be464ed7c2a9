// Edges between devices and between processes, without a GPU, for the transport contract.
#pragma once

#include "runtime/transport/transport_table.hpp"

namespace troupe::testing {

/// All edges over the stand-ins for NCCL and the device, announced over tcp.
extern const transport_row nccl_stand_in_row;
/// All edges over memory that late devices share.
extern const transport_row ipc_stand_in_row;

}  // namespace troupe::testing
