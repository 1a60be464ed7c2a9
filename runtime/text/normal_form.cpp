#include "runtime/text/normal_form.hpp"

#include <algorithm>
#include <span>

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "messages/check.hpp"

namespace troupe {
namespace {

/// Behind the last character with a decomposition (U+2FA1D) no row is needed.
constexpr char32_t rows_end = 0x2FA20;
constexpr int known_edition = 9;

const icu::Normalizer2& instance(normal_form form) {
  UErrorCode problem = U_ZERO_ERROR;
  const icu::Normalizer2* found = nullptr;
  switch (form) {
    case normal_form::nfc:
      found = icu::Normalizer2::getNFCInstance(problem);
      break;
    case normal_form::nfd:
      found = icu::Normalizer2::getNFDInstance(problem);
      break;
    case normal_form::nfkc:
      found = icu::Normalizer2::getNFKCInstance(problem);
      break;
    case normal_form::nfkd:
      found = icu::Normalizer2::getNFKDInstance(problem);
      break;
  }
  TROUPE_CHECK(U_SUCCESS(problem) != 0 && found != nullptr, "ICU has its own data");
  return *found;
}

bool is_known(char32_t c) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] > 0 && age[0] <= known_edition;
}

std::uint8_t bit_of(normal_form form) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(form));
}

/// The character of two, 0 for none.
char32_t composed(char32_t first, char32_t second) {
  const UChar32 found =
      instance(normal_form::nfc).composePair(static_cast<UChar32>(first), static_cast<UChar32>(second));
  return found >= 0 && is_known(static_cast<char32_t>(found)) ? static_cast<char32_t>(found) : 0;
}

}  // namespace

const normal_form_table& normal_form_table::get() {
  static const normal_form_table table;
  return table;
}

normal_form_table::normal_form_table() : rows_(rows_end), decompositions_{0} {
  for (char32_t c = 0x80; c < rows_end; ++c) {
    if (is_known(c)) read(c);
  }
}

void normal_form_table::read(char32_t c) {
  const auto point = static_cast<UChar32>(c);
  row& to = rows_[c];
  to.combining_class = u_getCombiningClass(point);
  const auto keep = [&](normal_form form) -> std::uint32_t {
    icu::UnicodeString parts;
    if (instance(form).getDecomposition(point, parts) == 0) return 0;
    const auto at = static_cast<std::uint32_t>(decompositions_.size());
    decompositions_.push_back(static_cast<char32_t>(parts.countChar32()));
    for (std::int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1)) {
      decompositions_.push_back(static_cast<char32_t>(parts.char32At(i)));
    }
    return at;
  };
  to.canonical = keep(normal_form::nfd);
  to.compatible = keep(normal_form::nfkd);
  for (const normal_form form : {normal_form::nfc, normal_form::nfd, normal_form::nfkc, normal_form::nfkd}) {
    const UProperty asked = form == normal_form::nfc    ? UCHAR_NFC_QUICK_CHECK
                            : form == normal_form::nfd  ? UCHAR_NFD_QUICK_CHECK
                            : form == normal_form::nfkc ? UCHAR_NFKC_QUICK_CHECK
                                                        : UCHAR_NFKD_QUICK_CHECK;
    const bool is_certain = u_getIntPropertyValue(point, asked) == UNORM_YES;
    if (!is_certain || to.combining_class != 0) to.changed_by |= bit_of(form);
  }
}

std::uint8_t normal_form_table::class_of(char32_t c) const noexcept {
  return c < rows_end ? rows_[c].combining_class : 0;
}

bool normal_form_table::is_inert(char32_t c, normal_form form) const noexcept {
  return c >= rows_end || (rows_[c].changed_by & bit_of(form)) == 0;
}

bool normal_form_table::may_change(std::string_view text, normal_form form) const noexcept {
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
    } else if (!is_inert(utf8::next(text, at), form)) {
      return true;
    }
  }
  return false;
}

void normal_form_table::decompose(std::string_view text, bool is_compatible, units& out) const {
  std::size_t sorted = 0;
  const auto sort_pending = [&] {
    std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(sorted), out.end(),
                     [](const unit& a, const unit& b) { return a.combining_class < b.combining_class; });
    sorted = out.size();
  };
  const auto put = [&](char32_t c, int change) {
    const std::uint8_t combining_class = class_of(c);
    if (combining_class == 0 && sorted < out.size()) sort_pending();
    out.push_back({combining_class, c, change});
    if (combining_class == 0 && sorted + 1 == out.size()) sorted = out.size();
  };
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = utf8::next(text, at);
    const row known = c < rows_end ? rows_[c] : row{};
    const std::uint32_t place = is_compatible && known.compatible != 0 ? known.compatible : known.canonical;
    if (place == 0) {
      put(c, 0);
      continue;
    }
    for (std::uint32_t i = 0; i < decompositions_[place]; ++i) put(decompositions_[place + 1 + i], i == 0 ? 0 : 1);
  }
  sort_pending();
}

void normal_form_table::compose(units& all) {
  units out;
  out.reserve(all.size());
  std::size_t starter = all.size();  // in `out`; the number of all means none
  bool is_blocked = false;
  std::uint8_t last_class = 0;
  for (const unit& each : all) {
    if (starter < out.size() && !(is_blocked && last_class >= each.combining_class)) {
      const char32_t both = composed(out[starter].c, each.c);
      if (both != 0) {
        out[starter].c = both;
        out[starter].change += each.change - 1;
        continue;
      }
    }
    out.push_back(each);
    if (each.combining_class == 0) {
      starter = out.size() - 1;
      is_blocked = false;
    } else {
      is_blocked = true;
      last_class = each.combining_class;
    }
  }
  all = std::move(out);
}

void normal_form_table::apply(aligned_text& text, normal_form form) const {
  if (!may_change(text.text, form)) return;
  units all;
  all.reserve(text.text.size());
  decompose(text.text, form == normal_form::nfkc || form == normal_form::nfkd, all);
  if (form == normal_form::nfc || form == normal_form::nfkc) compose(all);
  text_rewriter out(text);
  for (const unit& each : all) out.put(each.c, each.change);
  out.finish();
}

}  // namespace troupe
