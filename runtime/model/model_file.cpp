#include "runtime/model/model_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include "messages/try.hpp"
#include "runtime/archive/file_kinds.hpp"
#include "runtime/archive/zip_directory.hpp"
#include "runtime/model/archive_check.hpp"

namespace troupe {
namespace {

constexpr std::size_t head_bytes = 512;

const std::string export_fix =
    "export the model with its code, in Python: torch.jit.trace(model.eval(), example_input).save(\"model.pt\") or "
    "torch.jit.script(model.eval()).save(\"model.pt\"), where model is a torch.nn.Sequential";
const std::string size_fix = "copy or download the file again and compare its size with the original's";

std::string guess_content(std::string_view head) {
  if (const auto look = look_alike_of(head); !look.empty()) return "it looks like " + std::string(look);
  if (head.size() > 9 && head[8] == '{' && head[9] == '"') return "it looks like a safetensors file";
  return "a TorchScript file is a zip file, and this is none";
}

/// Entries stand below one folder, whose name is up to the writer; LibTorch takes the first entry's.
bool has_entry(const std::vector<zip_entry>& entries, std::string_view path) {
  const std::string_view first = entries.empty() ? std::string_view() : entries.front().name;
  const std::string start = std::string(first.substr(0, first.find('/') + 1)) + std::string(path);
  return std::ranges::any_of(entries, [&](const zip_entry& each) { return each.name.starts_with(start); });
}

expected<void> check_zip(std::istream& stream, std::uint64_t bytes, const model_loading& how,
                         const std::string& where) {
  const auto entries = read_zip_directory(stream, bytes);
  if (!entries) return zip_error(entries.error(), where);
  if (has_entry(*entries, "data/aotinductor/") || has_entry(*entries, "archive_format")) {
    return fail(error_code::model_not_torchscript, where,
                "the file is a torch.export package (.pt2), not a TorchScript model", export_fix);
  }
  const bool has_code = has_entry(*entries, "code/") || has_entry(*entries, "constants.pkl");
  if (has_code) {
    for (const std::string_view needed : {"data.pkl", "constants.pkl", "version"}) {
      if (has_entry(*entries, needed) || has_entry(*entries, ".data/" + std::string(needed))) continue;
      return fail(error_code::model_unreadable, where, "the file is damaged: it lacks the entry " + std::string(needed),
                  size_fix);
    }
    return check_archive(stream, *entries, how, where);
  }
  if (has_entry(*entries, "data.pkl")) {
    return fail(error_code::model_state_dict, where,
                "the file is a state dict (or another object of torch.save): it holds weights but no code",
                "load it into the model with load_state_dict, then " + export_fix);
  }
  return fail(error_code::model_not_torchscript, where,
              "the file is no TorchScript model: it is a zip file, but without data.pkl and code/", export_fix);
}

expected<void> check_head(std::string_view head, const std::string& where) {
  if (is_lfs_pointer(head)) {
    return fail(error_code::model_lfs_pointer, where, "the file is a git-lfs pointer, not the model itself",
                "run `git lfs pull` in the repository that it comes from");
  }
  if (is_pickle(head) || is_tar_file(head)) {
    const std::string form = is_tar_file(head) ? ", in its oldest form, a tar file" : "";
    return fail(error_code::model_legacy_pickle, where,
                "the file is a legacy pickle (pre-zip)" + form + ": such files hold no code that runs without Python",
                export_fix);
  }
  if (is_zip_file(head)) return {};
  return fail(error_code::model_not_torchscript, where, "the file is no TorchScript model: " + guess_content(head),
              export_fix);
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
                "name the .pt file inside it");
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

}  // namespace

expected<void> check_model_file(const std::filesystem::path& file, const model_loading& how) {
  TROUPE_TRY(check_path(file));
  const std::string where = file.string();
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::array<char, head_bytes> buffer{};
  stream.read(buffer.data(), buffer.size());
  const auto count = static_cast<std::size_t>(stream.gcount());
  if (!stream.is_open() || stream.bad()) {
    const std::string reason = errno != 0 ? std::strerror(errno) : "input/output error";
    return fail(error_code::model_unreadable, where, "the file cannot be read: " + reason, "check its permissions");
  }
  if (count == 0) {
    return fail(error_code::model_truncated, where, "the file is truncated: it is empty (0 bytes)", size_fix);
  }
  TROUPE_TRY(check_head({buffer.data(), count}, where));
  std::error_code problem;
  const std::uint64_t bytes = std::filesystem::file_size(file, problem);
  if (problem) return fail(error_code::model_unreadable, where, "the file cannot be read: " + problem.message());
  return check_zip(stream, bytes, how, where);
}

}  // namespace troupe
