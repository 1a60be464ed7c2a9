// Precompiled for the files that use both CAF and LibTorch.
#include <caf/all.hpp>

#include <troupe/runtime/torch_pch.hpp>
