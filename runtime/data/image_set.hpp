#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/data/image_options.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

/// The largest file that is read as a picture.
inline constexpr std::uint64_t picture_file_bytes_max = std::uint64_t{256} << 20;
/// Reasons why samples were left out that are kept; others are counted.
inline constexpr std::size_t left_out_reasons_max = 100;

/// Pictures in files, with labels. Any number of threads may read.
class picture_files {
 public:
  picture_files() = default;
  picture_files(const picture_files&) = delete;
  picture_files& operator=(const picture_files&) = delete;
  virtual ~picture_files() = default;

  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t classes() const noexcept = 0;
  [[nodiscard]] virtual std::int64_t label(std::uint64_t index) const = 0;
  /// What errors name.
  [[nodiscard]] virtual std::string place(std::uint64_t index) const = 0;
  /// The bytes of the file in place of what `into` has. Errors: missing E0301, empty E0306, unreadable or larger than
  /// picture_file_bytes_max E0307.
  virtual expected<void> read(std::uint64_t index, std::vector<std::uint8_t>& into) const = 0;
  /// data_set::files().
  [[nodiscard]] virtual std::vector<std::string> paths() const = 0;
  /// Samples that were left out already, such as keys without a picture, and why, for left_out_reasons_max at most.
  [[nodiscard]] virtual std::uint64_t left_out() const noexcept { return 0; }
  [[nodiscard]] virtual std::vector<std::string> left_out_reasons() const { return {}; }
};

/// Samples are float32 [N, 3, H, W], labels int64 [N]. `name` and `reading` are those of the set. Reads the first
/// picture's header where the options do not say how large pictures become. With choice.skips_bad all pictures are
/// decoded once, and those that fail are left out: E0306 where none is left, E0614 where there are no threads for it.
/// The files are not opened otherwise. Errors: as picture_files::read and decode_picture.
expected<data_set_ptr> make_image_set(std::unique_ptr<const picture_files> files, image_choice choice, std::string name,
                                      std::string reading);

}  // namespace troupe
