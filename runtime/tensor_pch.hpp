// Precompiled for the files that use tensors but no TorchScript.
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "messages/std_pch.hpp"
