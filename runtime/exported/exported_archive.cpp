#include "runtime/exported/exported_archive.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/archive/zip_content.hpp"
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

constexpr auto export_lines =
    "export the model with torch 2.11, in Python: program = torch.export.export(model.eval(), (example,), "
    "dynamic_shapes=({0: torch.export.Dim(\"batch\")},)); torch.export.save(program, \"model.pt2\")";

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

/// Below the one folder that all entries are in; older layouts have none.
std::string below_folder(const std::string& name, const std::string& folder) {
  return name.starts_with(folder) ? name.substr(folder.size()) : name;
}

std::string folder_of(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const std::string folder = names.front().substr(0, names.front().find('/') + 1);
  const bool is_shared = std::ranges::all_of(names, [&](const std::string& each) { return each.starts_with(folder); });
  return is_shared ? folder : std::string();
}

}  // namespace

bool is_exported(const std::vector<std::string>& names) {
  const std::string folder = folder_of(names);
  return std::ranges::any_of(names, [&](const std::string& each) {
    const std::string name = below_folder(each, folder);
    return name == "archive_format" || name == "serialized_exported_program.json" || name.starts_with("models/") ||
           name.starts_with("data/aotinductor/");
  });
}

expected<exported_archive> exported_archive::open(const std::filesystem::path& file) {
  exported_archive made;
  made.where_ = file.string();
  std::error_code problem;
  made.bytes_ = std::filesystem::file_size(file, problem);
  errno = 0;
  if (!problem) made.file_.open(file, std::ios::binary);
  if (problem || !made.file_.is_open()) {
    const std::string reason = problem ? problem.message() : std::strerror(errno);
    return fail(error_code::model_unreadable, made.where_, "the file cannot be read: " + reason,
                "check the path and its permissions");
  }
  auto entries = read_zip_directory(made.file_, made.bytes_);
  if (!entries) return zip_error(entries.error(), made.where_);
  std::vector<std::string> names;
  for (const zip_entry& each : *entries) names.push_back(each.name);
  const std::string folder = folder_of(names);
  for (zip_entry& each : *entries) {
    const std::string name = below_folder(each.name, folder);
    if (made.entries_.emplace(name, std::move(each)).second) continue;
    return fail(error_code::model_unreadable, made.where_, "the file is damaged: it has two entries " + name,
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
    return fail(error_code::model_not_torchscript, where_, cause, export_lines);
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
  if (has("data.pkl")) {
    return fail(error_code::model_state_dict, where_,
                "the file is a state dict (or another object of torch.save): it holds weights but no operators",
                "load it into the model with load_state_dict, then " + std::string(export_lines));
  }
  return refuse("the file is no exported program: it is a zip file, but without models/model.json");
}

const zip_entry* exported_archive::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

expected<void> exported_archive::read(const zip_entry& entry, const std::function<void(std::string_view piece)>& take) {
  const auto done = read_zip_entry(file_, entry, take);
  if (!done) return zip_error(done.error(), where_);
  return {};
}

expected<nlohmann::json> exported_archive::json(const std::string& name) {
  const zip_entry* const entry = find(name);
  if (entry == nullptr) {
    return fail(error_code::model_unreadable, where_, "the file is damaged: it lacks the entry " + name,
                copy_again_fix);
  }
  const std::uint64_t limit = std::min(limits::model_text_bytes_max, bytes_ + packed_text_bytes);
  if (entry->bytes > limit) {
    return fail(error_code::model_beyond_limits, where_,
                name + " has " + std::to_string(entry->bytes) + " bytes, and the limit is " + std::to_string(limit),
                "export the model again, and use no file that you did not ask for");
  }
  std::string text;
  text.reserve(entry->bytes);
  TROUPE_TRY(read(*entry, [&](std::string_view piece) { text += piece; }));
  return parse_json(text, bytes_ / 2 + json_memory_bytes, where_, name);
}

}  // namespace troupe
