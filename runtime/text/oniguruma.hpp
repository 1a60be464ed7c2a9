#pragma once

#include <string>

#include <tl/expected.hpp>

// ICU has a type UChar, too.
#define ONIG_ESCAPE_UCHAR_COLLISION
#include <oniguruma.h>

namespace troupe {

/// The functions of libonig.so.5. The library also defines regcomp(), regexec() and others of POSIX, with its own
/// syntax: a program that is linked with it would get those in place of the C library's. So it is loaded with names of
/// its own, at the first use. Threads: any.
struct oniguruma {
  decltype(&::onig_new) compile = nullptr;
  decltype(&::onig_free) free = nullptr;
  decltype(&::onig_error_code_to_str) error_text = nullptr;
  decltype(&::onig_search_with_param) search = nullptr;
  decltype(&::onig_region_new) new_region = nullptr;
  decltype(&::onig_region_free) free_region = nullptr;
  decltype(&::onig_new_match_param) new_limits = nullptr;
  decltype(&::onig_free_match_param) free_limits = nullptr;
  decltype(&::onig_initialize_match_param) initialize_limits = nullptr;
  decltype(&::onig_set_retry_limit_in_match_of_match_param) limit_retries_in_match = nullptr;
  decltype(&::onig_set_retry_limit_in_search_of_match_param) limit_retries_in_search = nullptr;
  decltype(&::onig_set_match_stack_limit_size_of_match_param) limit_stack = nullptr;
  OnigEncoding utf8 = nullptr;
  OnigSyntaxType* syntax = nullptr;

  /// The error names the library, and how to install it.
  static const tl::expected<oniguruma, std::string>& library();
};

}  // namespace troupe
