#include "runtime/exported/exported_archive.hpp"

#include <algorithm>

#include "messages/file_fixes.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/exported/read_exported.hpp"
#include "runtime/json/json_text.hpp"

namespace troupe {
namespace {

/// What a JSON text may take in memory, beside half the size of the file that it is in. The weights take up to the size
/// of the file, and the graph less than the text that it is made of, so that a file never takes more than twice its
/// size and 64 MiB.
constexpr std::uint64_t json_memory_bytes = 32u << 20;
/// The same of a text that is packed, before it is parsed.
constexpr std::uint64_t packed_text_bytes = 16u << 20;

/// Below the one folder that all entries are in; older layouts have none.
std::string below_folder(const std::string& name, const std::string& folder) {
  return name.starts_with(folder) ? name.substr(folder.size()) : name;
}

std::string folder_of(const std::vector<zip_entry>& entries) {
  if (entries.empty()) return {};
  const std::string folder = entries.front().name.substr(0, entries.front().name.find('/') + 1);
  const bool is_shared =
      std::ranges::all_of(entries, [&](const zip_entry& each) { return each.name.starts_with(folder); });
  return is_shared ? folder : std::string();
}

}  // namespace

bool is_exported(const archive_file& file) {
  const std::string folder = folder_of(file.entries);
  return std::ranges::any_of(file.entries, [&](const zip_entry& each) {
    const std::string name = below_folder(each.name, folder);
    return name == "archive_format" || name == "serialized_exported_program.json" || name.starts_with("models/") ||
           name.starts_with("data/aotinductor/");
  });
}

expected<exported_archive> exported_archive::open(archive_file file) {
  exported_archive made(std::move(file));
  const std::string folder = folder_of(made.file_.entries);
  for (const zip_entry& each : made.file_.entries) {
    const std::string name = below_folder(each.name, folder);
    if (made.entries_.emplace(name, &each).second) continue;
    return fail(error_code::model_unreadable, made.where(), "the file is damaged: it has two entries " + name,
                copy_again_fix);
  }
  if (made.find("models/model.json") == nullptr) return made.says_no_model();
  return made;
}

tl::unexpected<error> exported_archive::says_no_model() const {
  const auto has = [&](std::string_view start) {
    const auto found = entries_.lower_bound(start);
    return found != entries_.end() && found->first.starts_with(start);
  };
  const auto refuse = [&](const std::string& cause) {
    return fail(error_code::model_not_torchscript, where(), cause, export_fix);
  };
  if (has("serialized_exported_program.json")) {
    return refuse("the file is an exported program in the layout of torch 2.7 and older, which is not read");
  }
  if (has("data/aotinductor/")) {
    return refuse(
        "the file is a package of AOTInductor: machine code for one processor, which cannot be cut into stages");
  }
  if (has("models/")) {
    return refuse("the file holds several models, and none is named \"model\" (" +
                  entries_.lower_bound("models/")->first + ")");
  }
  if (has("archive_format")) {
    return refuse(
        "the file holds no model: torch.export.save failed while it wrote it, and what it raised in Python says why "
        "(of "
        "a dataclass or another class that forward returns: torch.export.register_dataclass)");
  }
  return refuse("the file is no exported program: it is a zip file, but without models/model.json");
}

const zip_entry* exported_archive::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second;
}

expected<nlohmann::json> exported_archive::json(const std::string& name) {
  const zip_entry* const entry = find(name);
  if (entry == nullptr) {
    return fail(error_code::model_unreadable, where(), "the file is damaged: it lacks the entry " + name,
                copy_again_fix);
  }
  const std::uint64_t limit = std::min(limits::model_text_bytes_max, bytes() + packed_text_bytes);
  if (entry->bytes > limit) {
    return fail(error_code::model_beyond_limits, where(),
                name + " has " + std::to_string(entry->bytes) + " bytes, and the limit is " + std::to_string(limit),
                limits_fix);
  }
  std::string text;
  text.reserve(entry->bytes);
  TROUPE_TRY(read(*entry, [&](std::string_view piece) { text += piece; }));
  return parse_json(text, bytes() / 2 + json_memory_bytes, where(), name);
}

}  // namespace troupe
