#include "runtime/data/image_options.hpp"

#include <cmath>

#include "messages/try.hpp"
#include "runtime/data/image_preset.hpp"
#include "runtime/data/option_text.hpp"

namespace troupe {

namespace {

tl::unexpected<error> bad_image_list(const data_request& request, const data_option& option,
                                     const std::string& expected) {
  return fail(error_code::value_out_of_range, request.specification,
              std::string(option.name) + ": expected " + expected,
              "write for example " + std::string(option.name) + "=" + option_example(option));
}

/// One number is a square.
expected<std::optional<picture_size>> read_sides(const data_request& request, const data_option& option) {
  const std::vector<double> numbers = request.options.numbers(option.name);
  if (numbers.empty()) return std::nullopt;
  const auto is_whole = [](double x) { return x == std::floor(x); };
  if (numbers.size() > 2 || !is_whole(numbers.front()) || !is_whole(numbers.back())) {
    return bad_image_list(request, option, "one whole number, or two: height and width");
  }
  return picture_size{static_cast<std::uint32_t>(numbers.back()), static_cast<std::uint32_t>(numbers.front())};
}

/// One number holds for all three.
expected<std::optional<std::array<double, 3>>> read_channels(const data_request& request, const data_option& option) {
  const std::vector<double> numbers = request.options.numbers(option.name);
  if (numbers.empty()) return std::nullopt;
  if (numbers.size() != 1 && numbers.size() != 3) {
    return bad_image_list(request, option, "three real numbers, for red, green and blue, or one for all");
  }
  if (numbers.size() == 1) return std::array{numbers[0], numbers[0], numbers[0]};
  return std::array{numbers[0], numbers[1], numbers[2]};
}

picture_filter interpolation_named(std::string_view name) {
  for (const auto each : {picture_filter::bicubic, picture_filter::lanczos, picture_filter::box}) {
    if (name_of(each) == name) return each;
  }
  return picture_filter::bilinear;
}

}  // namespace

std::string image_reading(const data_request& request, std::span<const data_option> table) {
  std::string text;
  for (const data_option& each : table) {
    const data_option_value* value = request.options.find_value(each.name);
    if (value == nullptr || each.name == preset_option.name) continue;
    text.append(",").append(each.name).append("=").append(value_text(*value, '+'));
  }
  return text;
}

expected<image_choice> read_image_options(const data_request& request) {
  image_choice choice;
  if (const auto folder = request.options.text(preset_option.name)) {
    const std::string file = preset_file(*folder);
    picture_steps steps = TROUPE_TRY(read_image_preset(file));
    choice.steps = steps;
    choice.files = {file};
  }
  picture_steps& steps = choice.steps;
  if (const auto size = TROUPE_TRY(read_sides(request, resize_option))) {
    const bool is_side = request.options.numbers(resize_option.name).size() == 1;
    steps.shorter_side = is_side ? std::optional(size->width) : std::nullopt;
    steps.resize = is_side ? std::nullopt : size;
  }
  if (const auto size = TROUPE_TRY(read_sides(request, crop_option))) steps.crop = size;
  if (const auto mean = TROUPE_TRY(read_channels(request, mean_option))) steps.mean = mean;
  if (const auto deviation = TROUPE_TRY(read_channels(request, std_option))) steps.deviation = deviation;
  if (const auto name = request.options.text(interpolation_option.name)) steps.filter = interpolation_named(*name);
  choice.skips_bad = request.options.toggle(skip_bad_option.name);
  return choice;
}

}  // namespace troupe
