#include "runtime/text/oniguruma.hpp"

#include <array>

#include <dlfcn.h>

namespace troupe {
namespace {

constexpr const char* library_file = "libonig.so.5";
constexpr unsigned group_depth_max = 200;

/// False where the library lacks the name.
template <class Pointer>
bool find(void* library, const char* name, Pointer& into) {
  into = reinterpret_cast<Pointer>(::dlsym(library, name));
  return into != nullptr;
}

tl::expected<oniguruma, std::string> load() {
  void* library = ::dlopen(library_file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return tl::make_unexpected(std::string(::dlerror()) + ": install the package libonig5");
  oniguruma found;
  decltype(&::onig_initialize) initialize = nullptr;
  decltype(&::onig_set_parse_depth_limit) limit_depth = nullptr;
  const bool has_all =
      find(library, "onig_initialize", initialize) && find(library, "onig_set_parse_depth_limit", limit_depth) &&
      find(library, "onig_new", found.compile) && find(library, "onig_free", found.free) &&
      find(library, "onig_error_code_to_str", found.error_text) &&
      find(library, "onig_search_with_param", found.search) && find(library, "onig_region_new", found.new_region) &&
      find(library, "onig_region_free", found.free_region) && find(library, "onig_new_match_param", found.new_limits) &&
      find(library, "onig_free_match_param", found.free_limits) &&
      find(library, "onig_initialize_match_param", found.initialize_limits) &&
      find(library, "onig_set_retry_limit_in_match_of_match_param", found.limit_retries_in_match) &&
      find(library, "onig_set_retry_limit_in_search_of_match_param", found.limit_retries_in_search) &&
      find(library, "onig_set_match_stack_limit_size_of_match_param", found.limit_stack) &&
      find(library, "OnigEncodingUTF8", found.utf8) && find(library, "OnigSyntaxOniguruma", found.syntax);
  std::array encodings{found.utf8};
  if (!has_all || initialize(encodings.data(), 1) != ONIG_NORMAL) {
    return tl::make_unexpected(std::string(library_file) + " is another version: install Oniguruma 6.9 (libonig5)");
  }
  limit_depth(group_depth_max);
  return found;
}

}  // namespace

const tl::expected<oniguruma, std::string>& oniguruma::library() {
  static const tl::expected<oniguruma, std::string> loaded = load();
  return loaded;
}

}  // namespace troupe
