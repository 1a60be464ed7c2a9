#pragma once

#include <utility>

#include <fmt/format.h>

#include "testing/simulation/judge.hpp"

namespace troupe::simulation {

/// Thrown within the judge.
struct broken_promise {
  verdict what;
};

template <class... Arguments>
[[noreturn]] void broken(const char* invariant, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw broken_promise{{invariant, fmt::format(text, std::forward<Arguments>(arguments)...)}};
}

}  // namespace troupe::simulation
