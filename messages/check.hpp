#pragma once

namespace troupe {

/// A broken invariant: prints where and what, and aborts. Stays on in release builds.
[[noreturn]] void invariant_broken(const char* condition, const char* why, const char* file, int line) noexcept;

}  // namespace troupe

/// `why` says which invariant holds and why, for the person who reads the abort message.
#define TROUPE_CHECK(condition, why) \
  ((condition) ? static_cast<void>(0) : ::troupe::invariant_broken(#condition, why, __FILE__, __LINE__))
