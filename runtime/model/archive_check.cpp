#include "runtime/model/archive_check.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "messages/file_fixes.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/graph/code_effects.hpp"
#include "runtime/model/code_scan.hpp"
#include "runtime/model/load_time_calls.hpp"
#include "runtime/model/pickle_scan.hpp"
#include "runtime/model/reference_depth.hpp"

namespace troupe {
namespace {

constexpr auto effects_fix = "--allow-effects takes it, if you trust the model as you would trust a program";
/// Beside the size of the file itself. Below, what LibTorch takes for one of each, with the graph that comes out.
constexpr std::uint64_t room_of_small_files = 60u << 20;
constexpr std::uint64_t copies_of_texts = 5;
constexpr std::uint64_t bytes_per_token = 300;
constexpr std::uint64_t bytes_per_value = 100;
constexpr std::string_view class_prefix = "__torch__.torch.classes.";

enum class content_kind : std::uint8_t { code, pickle, legacy, other };

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// LibTorch finds entries below the archive's folder whatever the case of their letters.
std::string path_in_archive(const std::string& name) {
  return lower_case(name.substr(std::min(name.find('/'), name.size() - 1) + 1));
}

content_kind kind_of(const std::string& name) {
  const std::string path = path_in_archive(name);
  if (path == "data.pkl" || path == "constants.pkl") return content_kind::pickle;
  if (path == "model.json") return content_kind::legacy;
  if (!path.starts_with("code/")) return content_kind::other;
  if (path.ends_with(".py")) return content_kind::code;
  return path.ends_with(".debug_pkl") ? content_kind::pickle : content_kind::other;
}

/// "code/__torch__/a/b.py" below the archive's folder is the module __torch__.a.b.
std::string module_of(const std::string& entry) {
  std::string path = entry.substr(entry.find('/') + 1 + std::string_view("code/").size());
  path.resize(path.size() - std::string_view(".py").size());
  std::ranges::replace(path, '/', '.');
  return path;
}

class archive_reader {
 public:
  archive_reader(archive_file& file, const model_loading& how) : file_(file), how_(how), where_(file.name) {
    for (const zip_entry& each : file.entries) {
      room_bytes_ += each.packed_bytes;
      sizes_[path_in_archive(each.name)] = each.bytes;
    }
  }

  expected<void> read(const zip_entry& entry) {
    const content_kind kind = kind_of(entry.name);
    const std::uint64_t bytes_max = std::min(limits::model_text_bytes_max, room_bytes_ / copies_of_texts);
    if (kind != content_kind::other && entry.bytes > bytes_max) {
      return beyond(entry, "has " + std::to_string(entry.bytes) + " bytes", bytes_max);
    }
    std::string text;
    TROUPE_TRY(file_.read(entry, [&](std::string_view piece) {
      if (kind != content_kind::other) text += piece;
    }));
    if (kind == content_kind::legacy) {
      return fail(error_code::model_not_torchscript, where_,
                  "the file is in TorchScript's format before PyTorch 1.3, and has the entry " + entry.name,
                  "load it in Python and save it again");
    }
    if (kind == content_kind::code) return read_code(entry, text);
    if (kind == content_kind::pickle) return read_pickle(entry, text);
    return {};
  }

  /// When all entries have been read.
  [[nodiscard]] expected<void> judge_references() const {
    const std::size_t depth = references_.deepest();
    if (depth <= limits::model_object_depth_max) return {};
    return fail(error_code::model_beyond_limits, where_,
                "its classes are nested " + std::to_string(depth) + " deep, and the limit is " +
                    std::to_string(limits::model_object_depth_max),
                limits_fix);
  }

  /// When all entries have been read.
  [[nodiscard]] expected<void> judge_effects() {
    if (how_.allow_effects) return {};
    if (effects_.empty()) {
      if (auto risk = functions_.risk()) effects_.push_back(std::move(*risk));
    }
    if (effects_.empty()) return {};
    const auto& [module, found] = effects_.front();
    std::string place = where_;
    if (!found.class_name.empty()) place += ", class " + module + "." + found.class_name;
    if (!found.method.empty()) place += ", " + found.method + "()";
    if (found.line > 0) place += ", line " + std::to_string(found.line) + " of its code";
    std::string cause = "the model " + found.effect + " (" + found.text + ")";
    if (effects_.size() > 1) cause += ", and there are " + std::to_string(effects_.size() - 1) + " more such places";
    return fail(error_code::model_has_effects, std::move(place), std::move(cause),
                found.is_missing ? own_operators_fix : effects_fix);
  }

 private:
  expected<void> read_code(const zip_entry& entry, const std::string& text) {
    auto outline = scan_code(text, entry.name, room_bytes_ / bytes_per_token - tokens_);
    if (!outline) {
      return fail(error_code::model_unreadable, where_,
                  "LibTorch cannot read the code in " + entry.name + ": " + outline.error(), copy_again_fix);
    }
    if (outline->depth > limits::model_expression_depth_max) {
      return beyond(entry, "is nested " + std::to_string(outline->depth) + " deep or deeper",
                    limits::model_expression_depth_max);
    }
    const std::uint64_t tokens_max = room_bytes_ / bytes_per_token;
    tokens_ += outline->tokens;
    if (tokens_ > tokens_max)
      return beyond(entry, "and those before it have more words of code than a file of this size may have", tokens_max);
    if (outline->tuple_members > tuple_members_max) {
      return beyond(entry,
                    "makes a tuple that has, with the tuples in it, " + std::to_string(outline->tuple_members) +
                        " members or more",
                    tuple_members_max);
    }
    if (!outline->foreign.empty()) {
      return fail(error_code::model_unreadable, where_,
                  "the code in " + entry.name + " has " + outline->foreign + ", which LibTorch never writes",
                  limits_fix);
    }
    const std::string module = module_of(entry.name);
    for (code_function& each : outline->functions) functions_.add(module, std::move(each));
    for (code_effect& each : outline->effects) effects_.emplace_back(module, std::move(each));
    for (const code_reference& each : outline->references) references_.add(module + "." + each.holder, each.named);
    return {};
  }

  expected<void> read_pickle(const zip_entry& entry, const std::string& bytes) {
    const std::uint64_t values_max = room_bytes_ / bytes_per_value;
    const auto outline = scan_pickle(bytes, values_max);
    if (!outline) {
      return fail(error_code::model_unreadable, where_,
                  "the objects in " + entry.name + " are damaged at " + outline.error(), copy_again_fix);
    }
    if (outline->is_too_large) return beyond(entry, "has more objects than a file of this size may have", values_max);
    if (outline->has_sparse) {
      return fail(error_code::model_unsupported, where_, "the entry " + entry.name + " has a sparse tensor",
                  "let the model keep it dense, with to_dense(), and export it again");
    }
    const std::size_t depth = std::max(outline->depth, outline->text_depth);
    if (depth > limits::model_object_depth_max) {
      return beyond(entry, "holds objects nested " + std::to_string(depth) + " deep", limits::model_object_depth_max);
    }
    TROUPE_TRY(check_records(entry, *outline));
    for (const std::string& each : outline->globals) {
      if (!each.starts_with(class_prefix)) continue;
      const std::string rest = each.substr(class_prefix.size());
      if (is_known_class_namespace(rest.substr(0, rest.find('.')))) continue;
      effects_.emplace_back("", code_effect{.class_name = {},
                                            .method = {},
                                            .text = each,
                                            .effect = "holds an object of a C++ class that is not known"});
    }
    return {};
  }

  /// LibTorch reads a record anew for each storage that names it, and takes its size from there.
  expected<void> check_records(const zip_entry& entry, const pickle_outline& outline) {
    const std::string path = path_in_archive(entry.name);
    const std::string folder = path.substr(0, path.rfind('.')) + "/";
    for (const pickled_record& each : outline.records) {
      const auto found = sizes_.find(folder + lower_case(each.name));
      const std::uint64_t there = found == sizes_.end() ? 0 : found->second;
      if (each.bytes > there) {
        return fail(error_code::model_unreadable, where_,
                    "the file is damaged: a tensor in " + entry.name + " takes " + std::to_string(each.bytes) +
                        " bytes of the entry " + folder + each.name + ", which has " + std::to_string(there),
                    copy_again_fix);
      }
      record_bytes_ += there;
      if (record_bytes_ > room_bytes_)
        return beyond(
            entry, "names the same weights again and again: it has " + std::to_string(record_bytes_) + " bytes of them",
            room_bytes_);
    }
    return {};
  }

  [[nodiscard]] expected<void> beyond(const zip_entry& entry, const std::string& what, std::uint64_t limit) const {
    return fail(error_code::model_beyond_limits, where_,
                "the entry " + entry.name + " " + what + ", and the limit is " + std::to_string(limit), limits_fix);
  }

  archive_file& file_;
  const model_loading& how_;
  const std::string& where_;
  /// What the model may take beside its weights.
  std::uint64_t room_bytes_ = room_of_small_files;
  std::uint64_t tokens_ = 0;
  std::uint64_t record_bytes_ = 0;
  std::map<std::string, std::uint64_t> sizes_;
  load_time_calls functions_;
  /// With the module whose code it is in.
  std::vector<std::pair<std::string, code_effect>> effects_;
  reference_depth references_;
};

/// Entries stand below one folder, whose name is up to the writer; LibTorch takes the first entry's.
bool has_entry(const std::vector<zip_entry>& entries, std::string_view path) {
  const std::string_view first = entries.empty() ? std::string_view() : entries.front().name;
  const std::string start = std::string(first.substr(0, first.find('/') + 1)) + std::string(path);
  return std::ranges::any_of(entries, [&](const zip_entry& each) { return each.name.starts_with(start); });
}

expected<void> check_archive(archive_file& file, const model_loading& how) {
  std::uint64_t unpacked = 0;
  std::uint64_t unpacked_max = room_of_small_files;
  for (const zip_entry& each : file.entries) unpacked_max += each.packed_bytes;
  unpacked_max = std::min(limits::model_unpacked_bytes_max, unpacked_max);
  for (const zip_entry& each : file.entries) {
    if (each.packed) unpacked += std::min(each.bytes, unpacked_max + 1);
    if (unpacked <= unpacked_max) continue;
    return fail(error_code::model_beyond_limits, file.name,
                "its packed entries unpack to more than " + std::to_string(unpacked_max) + " bytes, at " + each.name,
                limits_fix);
  }
  archive_reader reader(file, how);
  for (const zip_entry& each : file.entries) {
    TROUPE_TRY(reader.read(each));
  }
  return reader.judge_references().and_then([&] { return reader.judge_effects(); });
}

}  // namespace

expected<void> check_torchscript(archive_file& file, const model_loading& how) {
  if (has_entry(file.entries, "data/aotinductor/") || has_entry(file.entries, "archive_format")) {
    return fail(error_code::model_not_torchscript, file.name,
                "the file is a torch.export package (.pt2), not a TorchScript model",
                "use the file as the model of a pipeline, or save the module as TorchScript: "
                "torch.jit.trace(model.eval(), (example,)).save(\"model.pt\")");
  }
  const bool has_code = has_entry(file.entries, "code/") || has_entry(file.entries, "constants.pkl");
  if (has_code) {
    for (const std::string_view needed : {"data.pkl", "constants.pkl", "version"}) {
      if (has_entry(file.entries, needed) || has_entry(file.entries, ".data/" + std::string(needed))) continue;
      return fail(error_code::model_unreadable, file.name,
                  "the file is damaged: it lacks the entry " + std::string(needed), copy_again_fix);
    }
    return check_archive(file, how);
  }
  if (has_entry(file.entries, "data.pkl")) {
    return fail(error_code::model_state_dict, file.name,
                "the file is a state dict (or another object of torch.save): it holds weights but no code",
                weights_fix);
  }
  return fail(error_code::model_not_torchscript, file.name,
              "the file is no model: it is a zip file, but without models/model.json (.pt2), and without data.pkl and "
              "code/ (TorchScript)",
              export_fix);
}

}  // namespace troupe
