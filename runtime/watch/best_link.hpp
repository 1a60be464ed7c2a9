#pragma once

#include <filesystem>
#include <string>

#include <troupe/error.hpp>

namespace troupe {

/// E0611 where something else than a link has this name.
expected<void> check_link(const std::filesystem::path& link);
/// Makes the link lead to `target`, in place of where it led before: a reader finds the one or the other. E0611.
expected<void> replace_link(const std::filesystem::path& link, const std::string& target);

}  // namespace troupe
