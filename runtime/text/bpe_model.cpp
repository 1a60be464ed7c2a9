#include "runtime/text/bpe_model.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <queue>
#include <tuple>
#include <utility>

#include "runtime/text/byte_alphabet.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe {
namespace {

/// Up to this length looking at all pairs again and again is faster than a heap.
constexpr std::size_t few_symbols = 64;

}  // namespace

merge_table::merge_table(std::size_t count) : slots_(std::bit_ceil(std::max<std::size_t>(count * 2, 2))) {
  mask_ = slots_.size() - 1;
}

void merge_table::add(token_table::row left, token_table::row right, const merge& of) {
  const std::uint64_t key = key_of(left, right);
  std::size_t at = place_of(key);
  while (slots_[at].key != no_key && slots_[at].key != key) at = (at + 1) & mask_;
  slots_[at] = {key, of};
}

bpe_model::bpe_model(token_table all, merge_table merges, const bpe_options& options)
    : token_model(std::move(all)), merges_(std::move(merges)), options_(options) {
  if (options_.unknown) unknown_ = table().find(*options_.unknown);
  for (std::size_t byte = 0; byte < 256; ++byte) {
    std::array<char, 8> name{};
    std::snprintf(name.data(), name.size(), "<0x%02X>", static_cast<unsigned>(byte));
    fallbacks_[byte] = table().find(name.data());
    bytes_[byte] = table().find(utf8::text_of(character_of_byte(static_cast<unsigned char>(byte))));
    has_all_bytes_ = has_all_bytes_ && bytes_[byte] != token_table::none;
  }
  for (std::size_t c = 0; c < 128; ++c) ascii_[c] = table().find(utf8::text_of(static_cast<char32_t>(c)));
  has_all_bytes_ = has_all_bytes_ && options_.prefix.empty() && options_.suffix.empty();
}

bool bpe_model::tokenize(std::string_view word, std::vector<model_token>& to) const {
  if (options_.ignores_merges) {
    if (const auto whole = table().find(word); whole != token_table::none) {
      to.push_back({whole, 0, static_cast<std::uint32_t>(word.size())});
      return true;
    }
  }
  static thread_local std::vector<symbol> symbols;
  symbols.clear();
  if (!add_symbols(word, symbols)) return false;
  merge_all(symbols);
  put(symbols, to);
  return true;
}

bool bpe_model::tokenize_bytes(std::string_view word, std::vector<model_token>& to) const {
  if (!has_all_bytes_) return token_model::tokenize_bytes(word, to);
  if (options_.ignores_merges) {
    if (const auto whole = table().find(characters_of_bytes(word)); whole != token_table::none) {
      to.push_back({whole, 0, static_cast<std::uint32_t>(word.size())});
      return true;
    }
  }
  static thread_local std::vector<symbol> symbols;
  symbols.clear();
  for (const char byte : word) symbols.push_back({bytes_[static_cast<unsigned char>(byte)], 1});
  merge_all(symbols);
  put(symbols, to);
  return true;
}

bool bpe_model::add_unknown(std::uint32_t bytes, unknown_run& run, std::vector<symbol>& symbols) const {
  if (!options_.unknown) return true;
  if (unknown_ == token_table::none) return false;
  if (run.is_open && options_.fuses_unknown) {
    run.bytes += bytes;
    return true;
  }
  if (run.is_open) symbols.push_back({unknown_, run.bytes});
  run = {true, bytes};
  return true;
}

bool bpe_model::add_bytes(std::string_view part, std::vector<symbol>& symbols) const {
  const auto fallback = [&](char byte) { return fallbacks_[static_cast<unsigned char>(byte)]; };
  if (std::ranges::any_of(part, [&](char byte) { return fallback(byte) == token_table::none; })) return false;
  for (const char byte : part) symbols.push_back({fallback(byte), 1});
  return true;
}

bool bpe_model::add_symbols(std::string_view word, std::vector<symbol>& symbols) const {
  unknown_run run;
  std::string marked;
  const bool is_plain = options_.prefix.empty() && options_.suffix.empty();
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t length = utf8::length_from(word[at]);
    std::string_view part = word.substr(at, length);
    token_table::row row = token_table::none;
    if (is_plain && length == 1) {
      row = ascii_[static_cast<unsigned char>(part.front())];
    } else {
      if (!is_plain) {
        marked = (at > 0 ? options_.prefix : std::string()) + std::string(part);
        if (at + length == word.size()) marked += options_.suffix;
        part = marked;
      }
      row = table().find(part);
    }
    const auto bytes = static_cast<std::uint32_t>(length);
    at += length;
    if (row != token_table::none) {
      if (run.is_open) symbols.push_back({unknown_, run.bytes});
      run.is_open = false;
      symbols.push_back({row, bytes});
      continue;
    }
    if (options_.has_byte_fallback && add_bytes(part, symbols)) continue;
    if (!add_unknown(bytes, run, symbols)) return false;
  }
  if (run.is_open) symbols.push_back({unknown_, run.bytes});
  return true;
}

void bpe_model::merge_all(std::vector<symbol>& symbols) const {
  if (symbols.size() < 2) return;
  if (symbols.size() <= few_symbols) {
    merge_few(symbols);
  } else {
    merge_many(symbols);
  }
}

void bpe_model::merge_few(std::vector<symbol>& symbols) const {
  std::array<merge_table::merge, few_symbols> pairs;
  std::size_t count = symbols.size();
  for (std::size_t i = 0; i + 1 < count; ++i) pairs[i] = merges_.find(symbols[i].row, symbols[i + 1].row);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == merge_table::no_rank) break;
    symbols[best] = {pairs[best].result, symbols[best].bytes + symbols[best + 1].bytes};
    --count;
    for (std::size_t i = best + 1; i < count; ++i) {
      symbols[i] = symbols[i + 1];
      pairs[i - 1] = pairs[i];
    }
    if (best > 0) pairs[best - 1] = merges_.find(symbols[best - 1].row, symbols[best].row);
    if (best + 1 < count) pairs[best] = merges_.find(symbols[best].row, symbols[best + 1].row);
  }
  symbols.resize(count);
}

void bpe_model::merge_many(std::vector<symbol>& symbols) const {
  struct entry {
    std::uint32_t rank;
    std::uint32_t at;
    token_table::row result;
    bool operator>(const entry& other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
  };
  const auto end = static_cast<std::uint32_t>(symbols.size());
  std::vector<std::uint32_t> before(end);
  std::vector<std::uint32_t> behind(end);
  for (std::uint32_t i = 0; i < end; ++i) {
    before[i] = i - 1;  // of the first one: no symbol
    behind[i] = i + 1;
  }
  std::vector<entry> entries;
  const auto look = [&](std::uint32_t left, std::uint32_t right) -> std::optional<entry> {
    const auto found = merges_.find(symbols[left].row, symbols[right].row);
    if (found.rank == merge_table::no_rank) return std::nullopt;
    return entry{found.rank, left, found.result};
  };
  for (std::uint32_t i = 0; i + 1 < end; ++i) {
    if (const auto found = look(i, i + 1)) entries.push_back(*found);
  }
  std::priority_queue<entry, std::vector<entry>, std::greater<>> queue(std::greater<>{}, std::move(entries));
  while (!queue.empty()) {
    const entry top = queue.top();
    queue.pop();
    const std::uint32_t right = behind[top.at];
    if (symbols[top.at].bytes == 0 || right >= end) continue;
    const auto now = merges_.find(symbols[top.at].row, symbols[right].row);
    if (now.rank == merge_table::no_rank || now.result != top.result) continue;
    symbols[top.at] = {top.result, symbols[top.at].bytes + symbols[right].bytes};
    symbols[right].bytes = 0;
    behind[top.at] = behind[right];
    if (behind[right] < end) before[behind[right]] = top.at;
    if (before[top.at] < end) {
      if (const auto found = look(before[top.at], top.at)) queue.push(*found);
    }
    if (behind[top.at] < end) {
      if (const auto found = look(top.at, behind[top.at])) queue.push(*found);
    }
  }
  std::erase_if(symbols, [](const symbol& each) { return each.bytes == 0; });
}

void bpe_model::put(const std::vector<symbol>& symbols, std::vector<model_token>& to) {
  std::uint32_t at = 0;
  for (const symbol& each : symbols) {
    to.push_back({each.row, at, at + each.bytes});
    at += each.bytes;
  }
}

}  // namespace troupe
