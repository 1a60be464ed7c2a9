// Precompiled for the files that use both CAF and LibTorch.
#include <caf/all.hpp>

#include "runtime/torch_pch.hpp"
