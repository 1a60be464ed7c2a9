#pragma once

namespace troupe {

/// Freezes, fuses and runs a tiny model, so that LibTorch has done what it does at its first use only: operators are
/// registered, passes set up, kernels chosen and generated. Takes some 50 ms the first time. Any thread; starts none,
/// and never fails.
void use_libtorch_once();

}  // namespace troupe
