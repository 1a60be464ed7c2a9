#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include "runtime/suggest/read_text.hpp"
#include <troupe/scalars.hpp>

namespace troupe {
namespace {

constexpr std::array<std::string_view, 9> endings = {".safetensors", ".pt", ".pt2",  ".pth", ".ckpt",
                                                     ".bin",         ".th", ".json", ".npz"};
/// What a number behind counts, the surest first.
constexpr std::array<std::string_view, 6> words = {"step", "iteration", "iter", "checkpoint", "ckpt", "epoch"};

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

std::string without_ending(std::string name) {
  for (const std::string_view ending : endings) {
    if (name.size() > ending.size() && name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

std::optional<std::uint64_t> number_at(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || number < 0) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

/// Where the digits behind the last `word` begin; npos where none stand there.
std::size_t digits_behind(std::string_view text, std::string_view word) {
  for (std::size_t at = text.rfind(word); at != std::string_view::npos; at = text.rfind(word, at - 1)) {
    std::size_t digits = at + word.size();
    if (digits < text.size() && std::string_view("-_=.").find(text[digits]) != std::string_view::npos) ++digits;
    if (digits < text.size() && is_digit(text[digits])) return digits;
    if (at == 0) break;
  }
  return std::string_view::npos;
}

std::size_t last_digits(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && !is_digit(text[at - 1])) --at;
  if (at == 0) return std::string_view::npos;
  while (at > 0 && is_digit(text[at - 1])) --at;
  return at;
}

}  // namespace

std::optional<std::uint64_t> checkpoint_step(const std::filesystem::path& path) {
  const std::filesystem::path last = path.has_filename() ? path.filename() : path.parent_path().filename();
  const std::string name = without_ending(lower_case(last.string()));
  for (const std::string_view word : words) {
    const std::size_t at = digits_behind(name, word);
    if (at != std::string::npos) return number_at(std::string_view(name).substr(at));
  }
  const std::size_t at = last_digits(name);
  return at == std::string::npos ? std::nullopt : number_at(std::string_view(name).substr(at));
}

}  // namespace troupe
