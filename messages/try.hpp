#pragma once

#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

namespace troupe {

/// What TROUPE_TRY gives: the value, moved out; nothing for an expected<void>.
template <class T, class E>
T value_of_tried(tl::expected<T, E>&& tried) {
  if constexpr (!std::is_void_v<T>) return std::move(*tried);
}

}  // namespace troupe

#define TROUPE_TRY_JOIN(name, number) name##number
#define TROUPE_TRY_NAME(name, number) TROUPE_TRY_JOIN(name, number)
#define TROUPE_TRY_AS(tried, ...)                                       \
  __extension__({                                                       \
    auto tried = (__VA_ARGS__);                                         \
    if (!tried) return ::tl::make_unexpected(std::move(tried).error()); \
    ::troupe::value_of_tried(std::move(tried));                         \
  })

/// The value of an expected; where that holds an error, the enclosing function returns this error:
///
///     const wiring_plan plan = TROUPE_TRY(expand(graph));
///     TROUPE_TRY(check_places());
///
/// A statement expression, which clang and g++ have. Within a lambda it returns from the lambda, whose return type must
/// be stated then.
#define TROUPE_TRY(...) TROUPE_TRY_AS(TROUPE_TRY_NAME(troupe_tried_, __COUNTER__), __VA_ARGS__)
