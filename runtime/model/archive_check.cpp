#include "runtime/model/archive_check.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/archive/zip_content.hpp"
#include "runtime/graph/code_effects.hpp"
#include "runtime/model/code_scan.hpp"
#include "runtime/model/pickle_scan.hpp"
#include "runtime/model/reference_depth.hpp"

namespace troupe {
namespace {

constexpr auto copy_fix = "copy or download the file again and compare its size and checksum with the original's";
constexpr auto limits_fix = "export the model again, and use no file that you did not ask for";
constexpr auto effects_fix = "--allow-effects takes it, if you trust the model as you would trust a program";
constexpr std::string_view class_prefix = "__torch__.torch.classes.";

enum class content_kind : std::uint8_t { code, pickle, legacy, other };

/// LibTorch finds entries below the archive's folder whatever the case of their letters.
content_kind kind_of(const std::string& name) {
  std::string path = name.substr(std::min(name.find('/'), name.size() - 1) + 1);
  std::ranges::transform(path, path.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
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
  archive_reader(std::istream& file, const model_loading& how, const std::string& where)
      : file_(file), how_(how), where_(where) {}

  expected<void> read(const zip_entry& entry) {
    const content_kind kind = kind_of(entry.name);
    if (kind != content_kind::other && entry.bytes > limits::model_text_bytes_max) {
      return beyond(entry, "has " + std::to_string(entry.bytes) + " bytes", limits::model_text_bytes_max);
    }
    std::string text;
    const auto read = read_zip_entry(file_, entry, [&](std::string_view piece) {
      if (kind != content_kind::other) text += piece;
    });
    if (!read) return zip_error(read.error(), where_);
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
  [[nodiscard]] expected<void> judge_effects() const {
    if (how_.allow_effects || effects_.empty()) return {};
    const auto& [module, found] = effects_.front();
    std::string place = where_;
    if (!found.class_name.empty()) place += ", class " + module + "." + found.class_name;
    if (!found.method.empty()) place += ", " + found.method + "()";
    if (found.line > 0) place += ", line " + std::to_string(found.line) + " of its code";
    std::string cause = "the model " + found.effect + " (" + found.text + ")";
    if (effects_.size() > 1) cause += ", and there are " + std::to_string(effects_.size() - 1) + " more such places";
    return fail(error_code::model_has_effects, std::move(place), std::move(cause), effects_fix);
  }

 private:
  expected<void> read_code(const zip_entry& entry, const std::string& text) {
    auto outline = scan_code(text, entry.name);
    if (!outline) {
      return fail(error_code::model_unreadable, where_,
                  "LibTorch cannot read the code in " + entry.name + ": " + outline.error(), copy_fix);
    }
    if (outline->depth > limits::model_expression_depth_max) {
      return beyond(entry, "is nested " + std::to_string(outline->depth) + " deep or deeper",
                    limits::model_expression_depth_max);
    }
    const std::string module = module_of(entry.name);
    for (code_effect& each : outline->effects) effects_.emplace_back(module, std::move(each));
    for (const code_reference& each : outline->references) references_.add(module + "." + each.holder, each.named);
    return {};
  }

  expected<void> read_pickle(const zip_entry& entry, const std::string& bytes) {
    const auto outline = scan_pickle(bytes);
    if (!outline) {
      return fail(error_code::model_unreadable, where_,
                  "the objects in " + entry.name + " are damaged at " + outline.error(), copy_fix);
    }
    const std::size_t depth = std::max(outline->depth, outline->text_depth);
    if (depth > limits::model_object_depth_max) {
      return beyond(entry, "holds objects nested " + std::to_string(depth) + " deep", limits::model_object_depth_max);
    }
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

  [[nodiscard]] expected<void> beyond(const zip_entry& entry, const std::string& what, std::uint64_t limit) const {
    return fail(error_code::model_beyond_limits, where_,
                "the entry " + entry.name + " " + what + ", and the limit is " + std::to_string(limit), limits_fix);
  }

  std::istream& file_;
  const model_loading& how_;
  const std::string& where_;
  /// With the module whose code it is in.
  std::vector<std::pair<std::string, code_effect>> effects_;
  reference_depth references_;
};

}  // namespace

tl::unexpected<error> zip_error(const zip_fault& fault, const std::string& where) {
  switch (fault.what) {
    case zip_fault::kind::truncated:
      return fail(error_code::model_truncated, where, "the file is truncated: " + fault.cause, copy_fix);
    case zip_fault::kind::altered:
      return fail(error_code::model_damaged, where, "the file is damaged: " + fault.cause, copy_fix);
    case zip_fault::kind::damaged:
      break;
  }
  return fail(error_code::model_unreadable, where, "the file is damaged: " + fault.cause, copy_fix);
}

expected<void> check_archive(std::istream& file, const std::vector<zip_entry>& entries, const model_loading& how,
                             const std::string& where) {
  std::uint64_t unpacked = 0;
  for (const zip_entry& each : entries) {
    if (each.packed) unpacked += std::min(each.bytes, limits::model_unpacked_bytes_max + 1);
    if (unpacked <= limits::model_unpacked_bytes_max) continue;
    return fail(error_code::model_beyond_limits, where,
                "its packed entries unpack to more than " + std::to_string(limits::model_unpacked_bytes_max) +
                    " bytes, at " + each.name,
                limits_fix);
  }
  archive_reader reader(file, how, where);
  for (const zip_entry& each : entries) {
    TROUPE_TRY(reader.read(each));
  }
  return reader.judge_references().and_then([&] { return reader.judge_effects(); });
}

}  // namespace troupe
