#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/jit/serialization/import.h>
#include <troupe/runtime/torch_pch.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
