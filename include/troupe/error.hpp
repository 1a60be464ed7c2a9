#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

#include <troupe/error_code.hpp>

namespace troupe {

/// An error of operation, as a value: code, place, cause and one concrete fix. (A broken invariant is no error value:
/// it stops the process.)
struct error {
  error_code code = error_code::internal;
  /// File, line, key, layer, stage, rank, micro-batch: "model.pt, layer 3 (Linear)". May be empty.
  std::string where;
  /// Finding and expectation, without a full stop.
  std::string cause;
  /// One imperative sentence without a full stop. Empty if no fix is known.
  std::string fix;
};

/// "error E0203: <where>: <cause>\n  fix: <fix>". Control characters, bytes that are no UTF-8 and marks that turn the
/// direction of writing are escaped as \x1b, so that no name of a file can look like another line.
std::string to_string(const error& e);

template <class T>
using expected = tl::expected<T, error>;

/// `return fail(error_code::x, where, cause, fix);` from any function that returns expected<T>.
inline tl::unexpected<error> fail(error_code code, std::string where, std::string cause, std::string fix = {}) {
  return tl::make_unexpected(error{code, std::move(where), std::move(cause), std::move(fix)});
}

/// An error as an exception. what() is to_string() of the error. Only get(), look-ups in a result (run_result,
/// metric_value) and pictures of a topology throw it.
class error_exception : public std::runtime_error {
 public:
  explicit error_exception(error e) : std::runtime_error(to_string(e)), error_(std::move(e)) {}
  [[nodiscard]] const error& details() const noexcept { return error_; }

 private:
  error error_;
};

/// Gives the value or throws error_exception. The value of a temporary is moved out; otherwise the result refers into
/// `made`.
template <class T>
requires(!std::is_void_v<T>) [[nodiscard]] T get(expected<T>&& made) {
  if (!made) throw error_exception(std::move(made.error()));
  return std::move(*made);
}
template <class T>
requires(!std::is_void_v<T>) [[nodiscard]] T& get(expected<T>& made) {
  if (!made) throw error_exception(made.error());
  return *made;
}
template <class T>
requires(!std::is_void_v<T>) [[nodiscard]] const T& get(const expected<T>& made) {
  if (!made) throw error_exception(made.error());
  return *made;
}
inline void get(const expected<void>& done) {
  if (!done) throw error_exception(done.error());
}

}  // namespace troupe
