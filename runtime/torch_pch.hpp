// Precompiled for the files that use LibTorch: torch/script.h alone costs 10 s per file.
#include <torch/script.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
