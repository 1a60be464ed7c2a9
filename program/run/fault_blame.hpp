#pragma once

#include "runtime/inject/fault_injector.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// How a run under a plan ended: its cause begins with the last faults that were injected before, without those that
/// the run has recovered from and those that end none; its fix is about the plan. As it is where there is none, without
/// a plan (null), and where the end was asked for.
[[nodiscard]] error after_faults(error how, fault_injector* faults);

}  // namespace troupe
