#include "nccl_test_support.hpp"
