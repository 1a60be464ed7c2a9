#include "runtime/archive/archive_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include "messages/file_fixes.hpp"
#include "messages/try.hpp"
#include "runtime/archive/file_kinds.hpp"
#include "runtime/archive/zip_content.hpp"

namespace troupe {
namespace {

constexpr std::size_t head_bytes = 512;

std::string guess_content(std::string_view head) {
  if (const auto* look = look_alike_of(head)) return "it looks like " + std::string(look->name);
  if (is_safetensors(head)) return "it looks like a safetensors file";
  return "a model is a zip file (.pt2 or .pt), and this is none";
}

std::string fix_of_content(std::string_view head) {
  const auto* look = look_alike_of(head);
  if (look != nullptr && !look->fix.empty()) return std::string(look->fix);
  return is_safetensors(head) ? weights_fix : export_fix;
}

expected<void> check_head(std::string_view head, const std::string& where) {
  if (is_lfs_pointer(head)) {
    return fail(error_code::model_lfs_pointer, where, "the file is a git-lfs pointer, not the model itself",
                "run `git lfs pull` in the repository that it comes from");
  }
  if (is_pickle(head) || is_tar_file(head)) {
    const bool is_tar = is_tar_file(head);
    const std::string form = is_tar ? ", in its oldest form, a tar file" : "";
    return fail(error_code::model_legacy_pickle, where,
                "the file is a legacy pickle (pre-zip)" + form + ": such files hold no code that runs without Python",
                is_tar ? export_fix : weights_fix);
  }
  if (is_zip_file(head)) return {};
  return fail(error_code::model_not_torchscript, where, "the file is no model: " + guess_content(head),
              fix_of_content(head));
}

expected<void> check_path(const std::filesystem::path& file) {
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(file, problem);
  if (status.type() == std::filesystem::file_type::not_found) {
    return fail(error_code::model_missing, file.string(), "the file does not exist",
                "check the path; a relative one starts at " + std::filesystem::current_path(problem).string());
  }
  if (status.type() == std::filesystem::file_type::directory) {
    return fail(error_code::model_is_directory, file.string(), "the path is a directory, and a model is one file",
                "name the .pt2 or .pt file inside it");
  }
  if (problem) {
    return fail(error_code::model_unreadable, file.string(), "the file cannot be read: " + problem.message(),
                "check the path and its permissions");
  }
  if (status.type() != std::filesystem::file_type::regular) {
    return fail(error_code::model_unreadable, file.string(),
                "the path is no regular file (a FIFO, a device or a socket), so it cannot be read twice",
                "write the model to a file first");
  }
  return {};
}

tl::unexpected<error> zip_error(const zip_fault& fault, const std::string& where) {
  switch (fault.what) {
    case zip_fault::kind::truncated:
      return fail(error_code::model_truncated, where, "the file is truncated: " + fault.cause, copy_again_fix);
    case zip_fault::kind::altered:
      return fail(error_code::model_damaged, where, "the file is damaged: " + fault.cause, copy_again_fix);
    case zip_fault::kind::damaged:
      break;
  }
  return fail(error_code::model_unreadable, where, "the file is damaged: " + fault.cause, copy_again_fix);
}

}  // namespace

expected<void> archive_file::read(const zip_entry& entry, const std::function<void(std::string_view piece)>& take) {
  const auto done = read_zip_entry(stream, entry, take);
  if (!done) return zip_error(done.error(), name);
  return {};
}

expected<archive_file> open_archive(const std::filesystem::path& file) {
  TROUPE_TRY(check_path(file));
  errno = 0;
  archive_file opened{.name = file.string(), .stream = std::ifstream(file, std::ios::binary), .entries = {}};
  std::array<char, head_bytes> buffer{};
  opened.stream.read(buffer.data(), buffer.size());
  const auto count = static_cast<std::size_t>(opened.stream.gcount());
  std::error_code problem;
  opened.bytes = std::filesystem::file_size(file, problem);
  if (!opened.stream.is_open() || opened.stream.bad() || problem) {
    const std::string reason = errno != 0 ? std::strerror(errno) : "input/output error";
    return fail(error_code::model_unreadable, opened.name, "the file cannot be read: " + reason,
                "check its permissions");
  }
  if (count == 0) {
    return fail(error_code::model_truncated, opened.name, "the file is truncated: it is empty (0 bytes)",
                copy_again_fix);
  }
  TROUPE_TRY(check_head({buffer.data(), count}, opened.name));
  auto entries = read_zip_directory(opened.stream, opened.bytes);
  if (!entries) return zip_error(entries.error(), opened.name);
  opened.entries = std::move(*entries);
  return opened;
}

}  // namespace troupe
