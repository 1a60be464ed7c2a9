#pragma once

#include <set>

#include <sys/types.h>

namespace troupe::bench {

/// Of this process, whichever of its threads started them; ended ones without a wait() are left out.
std::set<pid_t> children();

/// Whether these have started all their threads and take hardly any time of a processor: watches for a moment.
bool are_at_rest(const std::set<pid_t>& workers);
/// Waits until so many children are there, and at rest. False after a minute.
bool await_rest(std::size_t count);

}  // namespace troupe::bench
