// Precompiled for the files that use TorchScript modules. Not torch/script.h: g++ instantiates its pending templates
// again in every file.
#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include "messages/std_pch.hpp"
