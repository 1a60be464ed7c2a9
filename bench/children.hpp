#pragma once

#include <set>

#include <sys/types.h>

namespace troupe::bench {

/// Workers of this process that have started all their threads; ended ones without a wait() are left out.
std::set<pid_t> workers();

/// Whether these take hardly any time of a processor: watches for a moment.
bool are_at_rest(const std::set<pid_t>& watched);
/// Waits until so many workers are there, and at rest. False after a minute.
bool await_rest(std::size_t count);

}  // namespace troupe::bench
