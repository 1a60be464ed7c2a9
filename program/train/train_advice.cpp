#include "program/train/train_advice.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "runtime/checkpoint/checkpoint_layout.hpp"
#include "runtime/suggest/read_text.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view begin_another = "begin another training in another folder (--save)";
constexpr std::string_view micro_batch_words = ", micro-batch ";
constexpr std::string_view samples_words = ", samples ";
/// Longer lists are cut.
constexpr std::size_t samples_named_max = 64;

/// The number in "global_step40", so that it comes behind "global_step5".
std::tuple<std::uint64_t, std::string> place_of(const std::string& tag) {
  const std::size_t digits = tag.find_last_not_of("0123456789") + 1;
  return {number_in<std::uint64_t>(std::string_view(tag).substr(digits)).value_or(0), tag};
}

/// The greatest tag that `latest` does not name; empty: there is none.
std::string other_tag(const fs::path& folder) {
  std::string newest;
  std::getline(std::ifstream(folder / latest_name) >> std::ws, newest);
  std::vector<std::string> tags = tags_in(folder);
  std::erase(tags, newest);
  if (tags.empty()) return {};
  return *std::ranges::max_element(tags, {}, &place_of);
}

void replace(std::string& in, std::string_view what, std::string_view by) {
  const std::size_t at = in.find(what);
  if (at != std::string::npos) in.replace(at, what.size(), by);
}

bool is_about_a_pass(error_code code) {
  return code == error_code::forward_failed || code == error_code::metric_failed ||
         code == error_code::gradient_not_finite;
}

std::string list_of(const std::vector<std::uint64_t>& samples, bool in_order) {
  if (samples.size() == 1) return fmt::format("{}", samples.front());
  if (in_order) return fmt::format("{} to {}", samples.front(), samples.back());
  const std::size_t named = std::min(samples.size(), samples_named_max);
  const std::string text =
      fmt::format("{}", fmt::join(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  return named == samples.size() ? text : fmt::format("{} and {} more", text, samples.size() - named);
}

}  // namespace

bool has_checkpoint(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(fs::path(folder) / latest_name, ignored);
}

error advised_to_load(error found, const std::string& folder) {
  const bool is_of_files = found.code == error_code::model_missing || found.code == error_code::model_unreadable ||
                           found.code == error_code::weights_do_not_fit;
  if (!is_of_files || folder.empty()) return found;
  const std::string tag = other_tag(folder);
  const std::string go_on = tag.empty() ? std::string(begin_another)
                                        : fmt::format("write {} into {}, to go on from there, or {}", tag,
                                                      (fs::path(folder) / latest_name).string(), begin_another);
  // A file that was changed on purpose has advice of its own behind it.
  const std::string_view first = "load another checkpoint";
  if (found.code == error_code::weights_do_not_fit) {
    found.fix = "give the model that the training was begun with, or " + go_on;
  } else if (found.fix.starts_with(first)) {
    found.fix.replace(0, first.size(), go_on);
  } else {
    found.fix = go_on;
  }
  return found;
}

error advised_of_journal(error found, const std::string& folder) {
  if (folder.empty()) return found;
  const std::string without_it =
      fmt::format("delete {}: the training then {}", (fs::path(folder) / "journal").string(),
                  has_checkpoint(folder) ? "goes on from its newest checkpoint" : "begins anew");
  const bool is_mismatch = found.code == error_code::journal_mismatch;
  if (is_mismatch && found.where != "journal") {
    replace(found.fix, "start anew with another journal", begin_another);
  } else if (is_mismatch || found.code == error_code::journal_damaged) {
    found.fix = without_it;  // it is damaged, or has none of the steps that are computed again
  } else if (found.code == error_code::journal_unwritable) {
    if (found.fix.starts_with("name a file")) {
      found.fix = fmt::format("make {} writable, with space left, and go on with --resume", folder);
    }
    replace(found.fix, "add --resume (journal.resume) to go on with it", "go on with it (--resume)");
    replace(found.fix, "name another file", "name another folder");
  }
  return found;
}

error advised_to_save(error found, const std::string& folder) {
  if (found.code == error_code::output_unwritable && !folder.empty()) {
    found.fix = fmt::format("make {} writable, with space left, and go on with --resume", folder);
  }
  return found;
}

std::optional<std::uint64_t> micro_batch_of(const error& found) {
  const std::size_t at = found.where.find(micro_batch_words);
  if (at == std::string::npos || !is_about_a_pass(found.code)) return std::nullopt;
  const std::size_t begin = at + micro_batch_words.size();
  const std::size_t end = found.where.find_first_not_of("0123456789", begin);
  return number_in<std::uint64_t>(std::string_view(found.where).substr(begin, end - begin));
}

error with_samples(error found, const std::vector<std::uint64_t>& samples, bool in_order) {
  std::string text =
      fmt::format(", sample{} {} of the data", samples.size() == 1 ? "" : "s", list_of(samples, in_order));
  const std::size_t at = found.where.find(samples_words, found.where.find(micro_batch_words));
  if (at == std::string::npos) {
    found.where += text;
  } else {
    const std::size_t end = found.where.find_first_not_of("0123456789 to", at + samples_words.size());
    found.where.replace(at, std::min(end, found.where.size()) - at, text);
  }
  return found;
}

}  // namespace troupe
