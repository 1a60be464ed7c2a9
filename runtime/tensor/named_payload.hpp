#pragma once

#include "messages/payload.hpp"
#include <troupe/named_tensors.hpp>

namespace troupe {

/// The tensors behind a handle, shared by handle; and back.
named_tensors to_named(const payload_ptr& handle);
payload_ptr to_payload(const named_tensors& tensors);

}  // namespace troupe
