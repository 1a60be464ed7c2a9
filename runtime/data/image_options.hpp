#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/data_option.hpp"
#include "runtime/image/picture_steps.hpp"

namespace troupe {

/// Sides of pictures that a user asks for.
inline constexpr std::uint32_t wanted_side_max = 16'384;

/// The options of kinds that are pictures.
inline constexpr data_option resize_option{.name = "resize",
                                           .form = data_value::numbers,
                                           .value_name = "PIXELS",
                                           .example = "256",
                                           .help = "resize pictures: the shorter side, or height and width",
                                           .minimum = 1,
                                           .maximum = wanted_side_max};
inline constexpr data_option crop_option{.name = "crop",
                                         .form = data_value::numbers,
                                         .value_name = "PIXELS",
                                         .example = "224",
                                         .help = "cut a square, or height and width, out of the middle of pictures",
                                         .minimum = 1,
                                         .maximum = wanted_side_max};
inline constexpr data_option mean_option{.name = "mean",
                                         .form = data_value::numbers,
                                         .value_name = "NUMBERS",
                                         .example = "0.485,0.456,0.406",
                                         .help = "subtracted from red, green and blue, which are 0 to 1",
                                         .minimum = -1e6,
                                         .maximum = 1e6};
inline constexpr data_option std_option{.name = "std",
                                        .form = data_value::numbers,
                                        .value_name = "NUMBERS",
                                        .example = "0.229,0.224,0.225",
                                        .help = "what red, green and blue are then divided by",
                                        .minimum = 1e-6,
                                        .maximum = 1e6};
inline constexpr std::array<std::string_view, 4> interpolation_names = {"bilinear", "bicubic", "lanczos", "box"};
inline constexpr data_option interpolation_option{.name = "interpolation",
                                                  .form = data_value::choice,
                                                  .value_name = "NAME",
                                                  .example = "bicubic",
                                                  .help = "how pictures are resized; without it bilinear",
                                                  .choices = interpolation_names};
inline constexpr data_option preset_option{
    .name = "preset",
    .form = data_value::text,
    .value_name = "FOLDER",
    .example = "models/vit",
    .help = "what preprocessor_config.json of this folder says of pictures; other options go before it"};
inline constexpr data_option skip_bad_option{
    .name = "skip-bad",
    .form = data_value::toggle,
    .help = "leave out pictures that cannot be decoded; all are decoded once when the data are opened"};
/// For webdataset alone.
inline constexpr data_option json_option{
    .name = "json",
    .form = data_value::text,
    .value_name = "KEY",
    .example = "label",
    .help = "the label is the whole number KEY of a sample's .json, and not its .cls"};

inline constexpr std::array imagefolder_options = {resize_option,        crop_option,   mean_option,    std_option,
                                                   interpolation_option, preset_option, skip_bad_option};
inline constexpr std::array webdataset_options = {resize_option,        crop_option,   mean_option,     std_option,
                                                  interpolation_option, preset_option, skip_bad_option, json_option};

/// How pictures become samples.
struct image_choice {
  picture_steps steps = {};
  bool skips_bad = false;
  /// The file of the preset, where one was named.
  std::vector<std::string> files = {};
};

/// For data_set::reading(): the options of `table` but the preset, whose file may lie elsewhere the next time.
std::string image_reading(const data_request& request, std::span<const data_option> table);

/// Errors: E0103 for lists of a wrong length; as read_image_preset.
expected<image_choice> read_image_options(const data_request& request);

}  // namespace troupe
