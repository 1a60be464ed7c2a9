#pragma once

#include <string>

#include <troupe/error.hpp>

namespace troupe {

/// An error as a part of another message: "E0203: <where>: <cause>", without its fix, escaped as to_string() does. A
/// message that tells the cause of another error takes over that one's fix, too.
[[nodiscard]] std::string brief(const error& e);

}  // namespace troupe
