#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// How a line becomes words: as the script mteval-v13a of NIST splits it, which is what sacrebleu does by default, or
/// at its spaces.
enum class bleu_words { mteval_13a, spaces };
/// What a precision of 0 becomes: half of that of one match, a quarter for the second such order, and so on, as in
/// sacrebleu by default; or 0, which makes the score 0, as Papineni and others define it (2002).
enum class bleu_smoothing { exponential, none };

inline constexpr std::size_t bleu_orders = 4;

/// Counts of n-grams of any number of lines; they are added up.
struct bleu_counts {
  std::array<std::uint64_t, bleu_orders> matches{};
  std::array<std::uint64_t, bleu_orders> ngrams{};
  std::uint64_t words = 0;
  /// The sum of the lengths of the references that are closest in length; the shorter one of two.
  std::uint64_t reference_words = 0;
};

struct bleu_score {
  /// From 0 to 100.
  double score = 0;
  /// In percent, smoothed.
  std::array<double, bleu_orders> precisions{};
  double brevity_penalty = 0;
};

/// A line in the words of mteval-v13a, with one blank between them.
std::string tokenize_13a(std::string_view line);

/// `references`: one or more translations of the same line.
bleu_counts count_bleu(std::string_view hypothesis, std::span<const std::string> references, bleu_words words);
bleu_counts& operator+=(bleu_counts& total, const bleu_counts& part) noexcept;
/// The geometric mean of the precisions of 1 to 4 words, times the brevity penalty.
bleu_score bleu_of(const bleu_counts& counts, bleu_smoothing smoothing);

}  // namespace troupe
