#pragma once

namespace troupe {

/// Puts something on those of descriptors 0 to 2 that are closed, so that no file, socket or event of the program gets
/// such a number and takes printed text. Reading and writing them fails with EBADF, as before. First in main().
void reserve_standard_descriptors() noexcept;

}  // namespace troupe
