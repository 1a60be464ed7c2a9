#pragma once

namespace troupe {

/// Keeps freed activations inside the process. With glibc's defaults every activation above 128 KiB is mapped and
/// unmapped anew, page faults included, which costs up to 1.75x on ResNet-20. Call once, before threads start; does
/// nothing where the allocator is not glibc's, or where the user set MALLOC_*_ or GLIBC_TUNABLES.
void keep_freed_memory() noexcept;

/// Gives freed memory back to the system after all, such as that of a model that was read and is not kept. Memory that
/// is freed later is kept again. Threads: any.
void return_freed_memory() noexcept;

}  // namespace troupe
