#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <troupe/error.hpp>
#include <troupe/scalars.hpp>

namespace troupe {

/// Event files in a folder.
expected<std::unique_ptr<scalar_log>> open_event_files(const std::filesystem::path& folder);
/// One file of rows, CSV or JSONL by its ending.
expected<std::unique_ptr<scalar_log>> open_scalar_rows(const std::filesystem::path& file);

/// E0611 for a target that holds something else.
tl::unexpected<error> not_for_scalars(const std::filesystem::path& target, const std::string& cause);
/// The keys of a JSONL row that are no scalars.
bool is_reserved(std::string_view name) noexcept;
/// E0103 for what no reader takes: scalar_log::write().
expected<void> check_scalars(std::uint64_t step, std::span<const scalar> scalars);
/// Seconds since 1970.
double wall_seconds_now();

}  // namespace troupe
