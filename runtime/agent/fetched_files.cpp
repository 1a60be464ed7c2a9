#include "runtime/agent/fetched_files.hpp"

#include <algorithm>
#include <utility>

#include "messages/limits.hpp"
#include "runtime/os/file_hash.hpp"

namespace troupe {
namespace {

constexpr std::size_t hash_digits = 64;

std::string hash_of(std::string_view text) {
  sha256 hash;
  hash.add(text.data(), text.size());
  return hash.digest();
}

}  // namespace

bool is_hash(std::string_view text) {
  return text.size() == hash_digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void fetched_files::add(const std::string& path, const std::string& content_hash) {
  entry added{hash_of(path), content_hash};
  std::erase_if(entries_, [&](const entry& each) { return each.path_hash == added.path_hash; });
  if (entries_.size() >= limits::node_files_max) entries_.erase(entries_.begin());
  entries_.push_back(std::move(added));
}

std::optional<std::string> fetched_files::find(const std::string& path) const {
  const auto found = std::ranges::find(entries_, hash_of(path), &entry::path_hash);
  if (found == entries_.end()) return std::nullopt;
  return directory_ + "/" + found->content_hash;
}

std::string fetched_files::text() const {
  std::string text;
  for (const entry& each : entries_) text.append(each.path_hash).append("=").append(each.content_hash).append(";");
  return text + directory_;
}

std::optional<fetched_files> fetched_files::parse(std::string_view text) {
  constexpr std::size_t entry_bytes = 2 * hash_digits + 2;
  fetched_files found;
  while (!text.starts_with('/')) {
    if (text.size() < entry_bytes || text[hash_digits] != '=' || text[entry_bytes - 1] != ';') return std::nullopt;
    const auto path = text.substr(0, hash_digits);
    const auto content = text.substr(hash_digits + 1, hash_digits);
    if (!is_hash(path) || !is_hash(content)) return std::nullopt;
    found.entries_.push_back({std::string(path), std::string(content)});
    text.remove_prefix(entry_bytes);
  }
  found.directory_ = text;
  return found;
}

}  // namespace troupe
