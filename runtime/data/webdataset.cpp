#include <algorithm>
#include <array>
#include <climits>
#include <string_view>

#include "messages/try.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/data/image_set.hpp"
#include "runtime/data/shard_names.hpp"
#include "runtime/data/tar_members.hpp"
#include "runtime/json/json_part.hpp"
#include "runtime/json/json_text.hpp"
#include "runtime/suggest/read_text.hpp"

namespace troupe {

namespace {

constexpr std::array<std::string_view, 3> picture_extensions = {"jpg", "jpeg", "png"};
constexpr std::uint64_t label_bytes_max = 64;
constexpr std::uint64_t json_bytes_max = 1u << 20;
constexpr std::uint64_t json_memory_max = 16u << 20;
constexpr const char* name_json =
    "give the key that the label has in .json, json=KEY, or leave out such samples with skip-bad";
constexpr const char* mend_shard = "pack the shard anew, or leave out what cannot be read with skip-bad";

struct shard_sample {
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t shard = 0;
  std::int32_t label = 0;
};

/// KEY.EXTENSION: the name is cut at the first dot of its last part, as the package webdataset does.
struct member_key {
  std::string_view key;
  std::string extension;
};

/// Nothing for a member that belongs to no sample.
std::optional<member_key> split_member(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base || name.substr(base).starts_with("__")) return std::nullopt;
  return member_key{name.substr(0, dot), lower_case(name.substr(dot + 1))};
}

/// All samples of all shards: 24 bytes for each, which is a fraction of its headers in the archive.
class shard_files final : public picture_files {
 public:
  struct shard {
    std::string path;
    byte_region_ptr region;
  };
  std::vector<shard> shards;
  std::vector<shard_sample> samples;
  std::uint64_t bad_count = 0;
  std::vector<std::string> bad_reasons;
  std::uint32_t class_count = 1;

  [[nodiscard]] std::uint64_t size() const noexcept override { return samples.size(); }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return class_count; }
  [[nodiscard]] std::int64_t label(std::uint64_t index) const override { return samples[index].label; }
  [[nodiscard]] std::string place(std::uint64_t index) const override {
    const shard& in = shards[samples[index].shard];
    const std::uint64_t offset = samples[index].offset;
    const std::string name = name_before(*in.region, offset);
    return in.path + ", byte " + std::to_string(offset) + (name.empty() ? "" : " (\"" + name + "\")");
  }
  expected<void> read(std::uint64_t index, std::vector<std::uint8_t>& into) const override {
    const shard_sample& sample = samples[index];
    into.resize(sample.size);
    return shards[sample.shard].region->read(sample.offset, into);
  }
  [[nodiscard]] std::vector<std::string> paths() const override {
    std::vector<std::string> all;
    for (const shard& each : shards) all.push_back(each.path);
    return all;
  }
  [[nodiscard]] std::uint64_t left_out() const noexcept override { return bad_count; }
  [[nodiscard]] std::vector<std::string> left_out_reasons() const override { return bad_reasons; }
};

/// Puts members with one key together, which stand behind each other.
class sample_collector {
 public:
  sample_collector(shard_files& into, std::optional<std::string> json_key, bool skips_bad)
      : into_(into), json_key_(std::move(json_key)), skips_bad_(skips_bad) {}

  expected<void> add_shard(const std::string& path) {
    const byte_region_ptr region = TROUPE_TRY(open_bytes(path));
    into_.shards.push_back({path, region});
    TROUPE_TRY(for_each_member(region, path, [&](const tar_member& member) { return add(member); }));
    return finish();
  }

 private:
  expected<void> add(const tar_member& member) {
    const auto name = split_member(member.name);
    if (!name) return {};
    if (name->key != key_) {
      TROUPE_TRY(finish());
      key_ = name->key;
    }
    if (name->extension == "json") has_json_ = true;
    const bool is_picture = std::ranges::find(picture_extensions, name->extension) != picture_extensions.end();
    const bool is_label = name->extension == (json_key_ ? "json" : "cls");
    if (!is_picture && !is_label) return {};
    if (!member.odd.empty()) return bad("the member \"" + member.name + "\" is " + member.odd);
    std::optional<tar_member>& place = is_picture ? picture_ : label_;
    if (place) return bad("has \"" + place->name + "\" and \"" + member.name + "\"");
    place = member;
    return {};
  }

  /// The sample is left out, or the error of opening.
  expected<void> bad(std::string cause, const char* fix = mend_shard) {
    if (!is_bad_.empty()) return {};
    is_bad_ = std::move(cause);
    if (skips_bad_) return {};
    return fail(error_code::data_bad_format, shard().path, "sample \"" + key_ + "\": " + is_bad_, fix);
  }

  expected<void> finish() {
    if (picture_ && !label_) {
      const bool may_be_json = has_json_ && !json_key_;
      TROUPE_TRY(bad(json_key_ ? "has no .json" : "has no label, .cls", may_be_json ? name_json : mend_shard));
    }
    if (label_ && !picture_) TROUPE_TRY(bad("has no picture: .jpg, .jpeg or .png"));
    if (picture_ && picture_->size > picture_file_bytes_max) TROUPE_TRY(bad("its picture has more than 256 MiB"));
    if (picture_ && label_ && is_bad_.empty()) TROUPE_TRY(keep());
    if (!is_bad_.empty()) count_bad();
    picture_.reset();
    label_.reset();
    is_bad_.clear();
    key_.clear();
    has_json_ = false;
    return {};
  }

  void count_bad() {
    ++into_.bad_count;
    if (into_.bad_reasons.size() >= left_out_reasons_max) return;
    into_.bad_reasons.push_back(shard().path + ", sample \"" + key_ + "\": " + is_bad_);
  }

  expected<void> keep() {
    auto label = read_label();
    if (!label && !skips_bad_) return tl::make_unexpected(label.error());
    if (!label) return bad(label.error().cause);
    into_.class_count = std::max(into_.class_count, static_cast<std::uint32_t>(*label) + 1);
    into_.samples.push_back({picture_->offset, static_cast<std::uint32_t>(picture_->size),
                             static_cast<std::uint32_t>(into_.shards.size() - 1), *label});
    return {};
  }

  [[nodiscard]] expected<std::int32_t> read_label() const {
    const std::string place = shard().path + ", \"" + label_->name + "\"";
    if (label_->size > (json_key_ ? json_bytes_max : label_bytes_max)) {
      return fail(error_code::data_bad_format, place,
                  "has " + std::to_string(label_->size) + " bytes, too many for a label", mend_shard);
    }
    std::string text(label_->size, '\0');
    TROUPE_TRY(shard().region->read(label_->offset, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()}));
    const std::int64_t label = TROUPE_TRY(json_key_ ? label_in_json(text, place) : label_in(text, place));
    if (label >= 0 && label < INT_MAX) return static_cast<std::int32_t>(label);
    return fail(error_code::data_label_out_of_range, place,
                "expected a class number from 0 on, found " + std::to_string(label), mend_shard);
  }

  [[nodiscard]] static expected<std::int64_t> label_in(std::string_view text, const std::string& place) {
    while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos)
      text.remove_suffix(1);
    if (const auto label = number_in<std::int64_t>(text)) return *label;
    return fail(error_code::data_bad_format, place, "expected a whole number, found \"" + std::string(text) + "\"",
                mend_shard);
  }

  [[nodiscard]] expected<std::int64_t> label_in_json(const std::string& text, const std::string& place) const {
    const auto wrong = [&](const error& found) {
      return fail(error_code::data_bad_format, place, found.cause, "give the key of a whole number, as in json=label");
    };
    const auto document = parse_json(text, json_memory_max, place, "it");
    if (!document) return wrong(document.error());
    const auto member = json_part(*document, place, "it").at(*json_key_);
    if (!member) return wrong(member.error());
    const auto label = member->integer();
    if (!label) return wrong(label.error());
    return *label;
  }

  [[nodiscard]] const shard_files::shard& shard() const { return into_.shards.back(); }

  shard_files& into_;
  std::optional<std::string> json_key_;
  bool skips_bad_;
  std::string key_;
  std::optional<tar_member> picture_;
  std::optional<tar_member> label_;
  bool has_json_ = false;
  /// Why the sample cannot be kept.
  std::string is_bad_;
};

}  // namespace

expected<data_set_ptr> open_webdataset(const data_request& request) {
  image_choice choice = TROUPE_TRY(read_image_options(request));
  const std::vector<std::string> paths = TROUPE_TRY(expand_shards(request.path(), request.specification));
  auto files = std::make_unique<shard_files>();
  sample_collector collector(*files, request.options.text(json_option.name), choice.skips_bad);
  for (const std::string& path : paths) TROUPE_TRY(collector.add_shard(path));
  if (files->samples.empty()) {
    return fail(
        error_code::data_empty, request.specification,
        "no sample has a picture (.jpg, .jpeg, .png) and a label (" +
            std::string(request.options.has(json_option.name) ? ".json" : ".cls") + ")" +
            (files->bad_reasons.empty() ? "" : "; the first: " + files->bad_reasons.front()),
        "give json=KEY where labels are in .json, and call members KEY.jpg and KEY.cls, as a key ends at its first "
        "dot");
  }
  return make_image_set(std::move(files), std::move(choice), request.specification,
                        image_reading(request, webdataset_options));
}

}  // namespace troupe
