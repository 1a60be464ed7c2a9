#pragma once

namespace troupe {

/// What to do about a file that is damaged.
inline constexpr auto copy_again_fix =
    "copy or download the file again and compare its size and checksum with the original's, or make it again with the "
    "program that wrote it";
/// About one that is larger, or nested deeper, than such files are.
inline constexpr auto limits_fix =
    "make the file again with the program that wrote it, and use no file that you did not ask for";

}  // namespace troupe
