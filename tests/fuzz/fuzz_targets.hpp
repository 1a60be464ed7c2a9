#pragma once

#include <cstddef>
#include <cstdint>

// What libFuzzer calls; each fuzzer is one source with this function. The same sources run over the corpus as an
// ordinary test, each with the function renamed (TROUPE_FUZZ_TARGET).
#ifndef TROUPE_FUZZ_TARGET
#define TROUPE_FUZZ_TARGET LLVMFuzzerTestOneInput
#endif

extern "C" int TROUPE_FUZZ_TARGET(const std::uint8_t* data, std::size_t size);
