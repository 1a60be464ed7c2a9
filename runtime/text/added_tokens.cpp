#include "runtime/text/added_tokens.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "messages/try.hpp"
#include "runtime/text/unicode_classes.hpp"

namespace troupe {
namespace {

using unicode::character_table;

bool ends_in_word(std::string_view text) {
  if (text.empty()) return false;
  std::size_t at = utf8::before(text, text.size());
  return character_table::get().has(utf8::next(text, at), unicode::word);
}
bool begins_with_word(std::string_view text) {
  std::size_t at = 0;
  return !text.empty() && character_table::get().has(utf8::next(text, at), unicode::word);
}
std::size_t spaces_begin(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const std::size_t before = utf8::before(text, end);
    std::size_t at = before;
    if (!character_table::get().has(utf8::next(text, at), unicode::whitespace_space)) break;
    end = before;
  }
  return end;
}
std::size_t spaces_end(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size()) {
    std::size_t behind = end;
    if (!character_table::get().has(utf8::next(text, behind), unicode::whitespace_space)) break;
    end = behind;
  }
  return end;
}

}  // namespace

void added_tokens::finder::add(wanted one) {
  if (!one.text.empty()) all_.push_back(std::move(one));
}

void added_tokens::finder::finish() {
  // The first one of equal texts is found.
  for (std::uint32_t i = 0; i < all_.size(); ++i)
    by_byte_[static_cast<unsigned char>(all_[i].text.front())].push_back(i);
  for (auto& list : by_byte_) {
    std::ranges::stable_sort(list, [&](std::uint32_t a, std::uint32_t b) {
      return all_[a].text.size() != all_[b].text.size() ? all_[a].text.size() > all_[b].text.size()
                                                        : all_[a].text < all_[b].text;
    });
  }
}

const added_tokens::wanted* added_tokens::finder::longest_at(std::string_view text, std::size_t at) const {
  const std::string_view rest = text.substr(at);
  for (const std::uint32_t index : by_byte_[static_cast<unsigned char>(rest.front())]) {
    if (rest.starts_with(all_[index].text)) return &all_[index];
  }
  return nullptr;
}

std::vector<document::cut_part> added_tokens::finder::parts_of(std::string_view text) const {
  std::vector<document::cut_part> parts;
  std::size_t done = 0;
  const auto put = [&](std::size_t begin, std::size_t end, const wanted* one) {
    parts.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), one != nullptr,
                     one != nullptr ? one->id : 0});
  };
  for (std::size_t at = 0; at < text.size();) {
    const wanted* found = longest_at(text, at);
    if (found == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + found->text.size();
    at = end;
    const added_token& token = found->token;
    if (token.is_single_word && (ends_in_word(text.substr(0, begin)) || begins_with_word(text.substr(end)))) continue;
    if (token.strips_left) begin = std::max(spaces_begin(text.substr(0, begin)), done);
    if (token.strips_right) end += spaces_end(text.substr(end));
    if (done < begin) put(done, begin, nullptr);
    put(begin, end, found);
    done = end;
  }
  if (done < text.size()) put(done, text.size(), nullptr);
  return parts;
}

void added_tokens::finder::cut(document& text) const {
  if (all_.empty()) {
    text.cut_words([](std::string_view part, const auto& take) { take(0, part.size()); });
    return;
  }
  text.cut([&](std::string_view part) { return parts_of(part); });
}

void added_tokens::cut_raw(document& text) const {
  raw_.cut(text);
}
void added_tokens::cut_normalized(document& text) const {
  normalized_.cut(text);
}

expected<void> added_tokens::add(const std::vector<added_token>& tokens, const token_table& table,
                                 const normalizer* normalize) {
  auto next_id = static_cast<token_id>(table.size());
  std::vector<const added_token*> specials;
  std::vector<const added_token*> others;
  for (const added_token& token : tokens) {
    if (token.is_special && !token.content.empty() && specials_.insert(token.content).second)
      specials.push_back(&token);
  }
  for (const added_token& token : tokens) {
    if (token.content.empty() || ids_.contains(token.content)) continue;
    const token_table::row known = table.find(token.content);
    const token_id id = known != token_table::none ? table.id(known) : next_id++;
    ids_.emplace(token.content, id);
    contents_.insert_or_assign(id, token.content);
    if (!specials_.contains(token.content)) others.push_back(&token);
  }
  specials.insert(specials.end(), others.begin(), others.end());
  for (const added_token* token : specials) {
    const token_id id = ids_.at(token->content);
    if (!token->is_normalized) {
      raw_.add({token->content, *token, id});
      continue;
    }
    aligned_text form;
    form.append_original(token->content, 0);
    if (normalize != nullptr) TROUPE_TRY(normalize->apply(form));
    normalized_.add({form.text, *token, id});
  }
  raw_.finish();
  normalized_.finish();
  return {};
}

}  // namespace troupe
