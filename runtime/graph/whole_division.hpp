#pragma once

#include <torch/csrc/jit/ir/ir.h>

namespace troupe {

/// Puts operators of our own in the place of TorchScript's divisions of whole numbers (//, %, divmod, gcd), also in
/// blocks. TorchScript's end the process where the divisor is 0, or the quotient has more than 64 bits; ours throw
/// std::domain_error, and give the same numbers otherwise.
void guard_divisions(torch::jit::Block& block);

}  // namespace troupe
