#include "runtime/data/image_preset.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>

#include "messages/try.hpp"
#include "runtime/data/image_options.hpp"
#include "runtime/json/json_part.hpp"
#include "runtime/json/json_text.hpp"
#include "runtime/os/input_file.hpp"

namespace troupe {

namespace {

constexpr std::size_t preset_bytes_max = 64u << 10;
constexpr std::uint64_t preset_memory_max = 8u << 20;
constexpr const char* give_options = "leave preset= out, and give resize=, crop=, mean= and std= instead";

using three_numbers = std::array<double, 3>;

constexpr three_numbers half_each = {0.5, 0.5, 0.5};
constexpr three_numbers clip_mean = {0.48145466, 0.4578275, 0.40821073};
constexpr three_numbers clip_deviation = {0.26862954, 0.26130258, 0.27577711};

/// A processor, and what it does where its file says nothing.
struct processor_kind {
  std::string_view name;
  std::int64_t side;
  /// A size that is one number is both sides, and not the shorter one.
  bool is_square;
  bool has_crop;
  std::int64_t crop;
  picture_filter filter;
  three_numbers mean;
  three_numbers deviation;
};

constexpr std::array processor_kinds = {
    processor_kind{"ViT", 224, true, false, 224, picture_filter::bilinear, half_each, half_each},
    processor_kind{"DeiT", 256, true, true, 224, picture_filter::bicubic, half_each, half_each},
    processor_kind{"Beit", 256, true, true, 224, picture_filter::bicubic, half_each, half_each},
    processor_kind{"Siglip", 224, true, false, 224, picture_filter::bicubic, half_each, half_each},
    processor_kind{"CLIP", 224, false, true, 224, picture_filter::bicubic, clip_mean, clip_deviation},
    processor_kind{"ConvNext", 384, false, false, 224, picture_filter::bilinear, half_each, half_each},
    processor_kind{"Bit", 224, false, true, 224, picture_filter::bicubic, clip_mean, clip_deviation},
    processor_kind{"MobileNetV1", 256, false, true, 224, picture_filter::bilinear, half_each, half_each},
    processor_kind{"MobileNetV2", 256, false, true, 224, picture_filter::bilinear, half_each, half_each},
};

tl::unexpected<error> preset_not_made(const json_part& file, const std::string& what) {
  return fail(error_code::data_bad_format, file.where(), what + ", which is not made here", give_options);
}

expected<const processor_kind*> find_processor(const json_part& file) {
  auto named = TROUPE_TRY(file.find("image_processor_type"));
  if (!named) named = TROUPE_TRY(file.find("feature_extractor_type"));
  if (!named) {
    return fail(error_code::data_bad_format, file.where(),
                "has neither image_processor_type nor feature_extractor_type", give_options);
  }
  const std::string name = TROUPE_TRY(named->text());
  std::string_view stem = name;
  for (const std::string_view suffix : {"Fast", "ImageProcessor", "FeatureExtractor"}) {
    if (stem.ends_with(suffix)) stem.remove_suffix(suffix.size());
  }
  const auto* found = std::ranges::find(processor_kinds, stem, &processor_kind::name);
  if (found != processor_kinds.end()) return found;
  return preset_not_made(file, "names the processor \"" + name + "\"");
}

expected<std::uint32_t> side_in(const json_part& value) {
  const std::int64_t pixels = TROUPE_TRY(value.integer());
  if (pixels < 1 || pixels > wanted_side_max) {
    return value.wrong("is no number of pixels from 1 to " + std::to_string(wanted_side_max));
  }
  return static_cast<std::uint32_t>(pixels);
}

/// {"height": 224, "width": 224}, {"shortest_edge": 256}, or a number.
struct preset_size {
  std::optional<picture_size> both;
  std::uint32_t shorter = 0;
};

expected<preset_size> preset_size_of(const json_part& file, std::string_view key, std::int64_t otherwise,
                                     bool is_square) {
  const auto given = TROUPE_TRY(file.find(key));
  const auto by_number = [&](std::uint32_t pixels) {
    return is_square ? preset_size{picture_size{pixels, pixels}, 0} : preset_size{std::nullopt, pixels};
  };
  if (!given) return by_number(static_cast<std::uint32_t>(otherwise));
  if (auto number = given->integer()) return by_number(TROUPE_TRY(side_in(*given)));
  if (const auto shortest = TROUPE_TRY(given->find("shortest_edge"))) {
    if (TROUPE_TRY(given->find("longest_edge"))) return preset_not_made(file, "limits the longer side of pictures");
    const std::uint32_t pixels = TROUPE_TRY(side_in(*shortest));
    return preset_size{std::nullopt, pixels};
  }
  const json_part height_part = TROUPE_TRY(given->at("height"));
  const json_part width_part = TROUPE_TRY(given->at("width"));
  const std::uint32_t height = TROUPE_TRY(side_in(height_part));
  const std::uint32_t width = TROUPE_TRY(side_in(width_part));
  return preset_size{picture_size{width, height}, 0};
}

expected<picture_filter> filter_of(const json_part& file, picture_filter otherwise) {
  const auto given = TROUPE_TRY(file.find("resample"));
  if (!given) return otherwise;
  // The numbers of PIL.Image.Resampling.
  switch (TROUPE_TRY(given->integer())) {
    case 1:
      return picture_filter::lanczos;
    case 2:
      return picture_filter::bilinear;
    case 3:
      return picture_filter::bicubic;
    case 4:
      return picture_filter::box;
    default:
      return preset_not_made(file, "resizes by another filter than bilinear, bicubic, lanczos and box");
  }
}

/// A number for all three, or three.
expected<three_numbers> channels_of(const json_part& file, std::string_view key, const three_numbers& otherwise) {
  const auto given = TROUPE_TRY(file.find(key));
  if (!given) return otherwise;
  if (const auto number = given->real()) return three_numbers{*number, *number, *number};
  const std::vector<json_part> items = TROUPE_TRY(given->items());
  if (items.size() != 3) return given->wrong("has not three numbers");
  three_numbers numbers{};
  for (std::size_t i = 0; i < items.size(); ++i) numbers[i] = TROUPE_TRY(items[i].real());
  return numbers;
}

/// ConvNeXT: small pictures are cut out of larger ones, others are squeezed into the square.
expected<void> convnext_steps(const json_part& file, std::uint32_t edge, picture_steps& into) {
  constexpr std::uint32_t uncut_from = 384;
  const picture_size square{edge, edge};
  if (edge >= uncut_from) {
    into.resize = square;
    return {};
  }
  const auto given = TROUPE_TRY(file.find("crop_pct"));
  const double part = given ? TROUPE_TRY(given->real()) : 224.0 / 256;
  const double whole = edge / part;
  if (!(whole >= 1 && whole <= wanted_side_max)) return file.wrong("has a crop_pct that gives no size of a picture");
  into.shorter_side = static_cast<std::uint32_t>(whole);
  into.crop = square;
  return {};
}

expected<void> read_sizes(const json_part& file, const processor_kind& kind, picture_steps& into) {
  if (TROUPE_TRY(truth_or(file, "do_resize", true))) {
    const preset_size size = TROUPE_TRY(preset_size_of(file, "size", kind.side, kind.is_square));
    if (kind.name == "ConvNext") {
      if (size.both) return preset_not_made(file, "gives height and width to a ConvNeXT processor");
      return convnext_steps(file, size.shorter, into);
    }
    into.resize = size.both;
    if (!size.both) into.shorter_side = size.shorter;
  }
  if (kind.name == "ConvNext" || kind.name == "ViT" || kind.name == "Siglip") return {};
  if (!TROUPE_TRY(truth_or(file, "do_center_crop", kind.has_crop))) return {};
  const preset_size crop = TROUPE_TRY(preset_size_of(file, "crop_size", kind.crop, true));
  if (!crop.both) return preset_not_made(file, "cuts out pictures by their shorter side");
  into.crop = crop.both;
  return {};
}

expected<void> read_scaling(const json_part& file, const processor_kind& kind, picture_steps& into) {
  into.scale_factor = 1;
  if (TROUPE_TRY(truth_or(file, "do_rescale", true))) {
    const auto factor = TROUPE_TRY(file.find("rescale_factor"));
    into.scale_factor = factor ? TROUPE_TRY(factor->real()) : 1.0 / 255;
  }
  if (!TROUPE_TRY(truth_or(file, "do_normalize", true))) return {};
  into.mean = TROUPE_TRY(channels_of(file, "image_mean", kind.mean));
  const three_numbers deviation = TROUPE_TRY(channels_of(file, "image_std", kind.deviation));
  const auto is_usable = [](double x) { return std::isfinite(x) && x > 0; };
  if (!std::ranges::all_of(deviation, is_usable)) return file.wrong("has an image_std that is not above 0");
  into.deviation = deviation;
  return {};
}

expected<std::string> preset_text(const std::string& file) {
  auto text = read_small_input(file, preset_bytes_max);
  if (!text) {
    const bool is_missing = text.error().number == ENOENT || text.error().number == ENOTDIR;
    return fail(is_missing ? error_code::data_missing : error_code::data_unreadable, file,
                is_missing ? "there is no such file" : text.error().cause,
                "name the model's folder, which has a preprocessor_config.json");
  }
  if (text->size() <= preset_bytes_max) return std::move(*text);
  return fail(error_code::data_unreadable, file, "is larger than " + std::to_string(preset_bytes_max) + " bytes",
              give_options);
}

}  // namespace

std::string preset_file(const std::string& folder) {
  constexpr const char* name = "preprocessor_config.json";
  const std::filesystem::path path(folder);
  return path.filename() == name ? folder : (path / name).string();
}

expected<picture_steps> read_image_preset(const std::string& file) {
  const std::string text = TROUPE_TRY(preset_text(file));
  const nlohmann::json document = TROUPE_TRY(parse_json(text, preset_memory_max, file, "the preset"));
  const json_part root(document, file, "the preset");
  const processor_kind& kind = *TROUPE_TRY(find_processor(root));
  for (const std::string_view key : {"do_flip_channel_order", "do_pad", "rescale_offset", "do_color_quantize"}) {
    if (TROUPE_TRY(truth_or(root, key, false))) return preset_not_made(root, "asks for " + std::string(key));
  }
  picture_steps steps{.cropping = crop_rule::hugging_face, .scaling = scale_rule::multiply};
  steps.filter = TROUPE_TRY(filter_of(root, kind.filter));
  TROUPE_TRY(read_sizes(root, kind, steps));
  TROUPE_TRY(read_scaling(root, kind, steps));
  return steps;
}

}  // namespace troupe
