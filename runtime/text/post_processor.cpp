#include "runtime/text/post_processor.hpp"

#include <map>
#include <utility>

#include "messages/try.hpp"
#include "runtime/text/tokenizer_part.hpp"

namespace troupe {
namespace {

constexpr std::size_t template_pieces_max = 1000;
constexpr std::size_t id_max = 0xFFFFFFFE;

using special_ids = std::map<std::string, std::vector<token_id>>;

expected<token_id> read_id(const json_part& part) {
  return static_cast<token_id>(TROUPE_TRY(count_in(part, id_max)));
}

/// ["[SEP]", 102]
expected<token_id> read_named_id(const json_part& part, std::string_view key) {
  const json_part pair = TROUPE_TRY(part.at(key));
  const std::vector<json_part> items = TROUPE_TRY(pair.items());
  if (items.size() != 2) return pair.wrong("is no token with its id");
  return read_id(items[1]);
}

expected<special_ids> read_specials(const json_part& part) {
  special_ids all;
  for (const auto& [name, value] : TROUPE_TRY(part.members())) {
    TROUPE_TRY(check_members(value, "TemplateProcessing", {"id", "ids", "tokens"}));
    std::vector<token_id>& ids = all[name];
    for (const json_part& each : TROUPE_TRY(TROUPE_TRY(value.at("ids")).items())) {
      ids.push_back(TROUPE_TRY(read_id(each)));
    }
  }
  return all;
}

expected<std::vector<template_piece>> read_template(const json_part& part, const special_ids& specials, int texts) {
  std::vector<template_piece> pieces;
  const std::vector<json_part> items = TROUPE_TRY(part.items());
  if (items.size() > template_pieces_max) return part.wrong("has too many elements");
  for (const json_part& item : items) {
    const tagged_part only = TROUPE_TRY(item.tagged());
    const std::string id = TROUPE_TRY(TROUPE_TRY(only.value.at("id")).text());
    template_piece piece;
    piece.type_id = TROUPE_TRY(read_id(TROUPE_TRY(only.value.at("type_id"))));
    if (only.kind == "Sequence") {
      piece.text = id == "A" ? 0 : 1;
      if ((id != "A" && id != "B") || piece.text >= texts) return item.wrong("names a text that is not there");
    } else if (only.kind == "SpecialToken" && specials.contains(id)) {
      piece.specials = specials.at(id);
    } else {
      return unusable(part.where(), "a template has the element \"" + id + "\" of kind " + only.kind +
                                        ", which special_tokens does not have");
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

expected<post_processing> read_template_processing(const json_part& part) {
  TROUPE_TRY(check_members(part, "TemplateProcessing", {"single", "pair", "special_tokens"}));
  const special_ids specials = TROUPE_TRY(read_specials(TROUPE_TRY(part.at("special_tokens"))));
  post_processing made;
  made.has_template = true;
  made.single = TROUPE_TRY(read_template(TROUPE_TRY(part.at("single")), specials, 1));
  made.pair = TROUPE_TRY(read_template(TROUPE_TRY(part.at("pair")), specials, 2));
  return made;
}

expected<post_processing> read_trimming(const json_part& part) {
  TROUPE_TRY(check_members(part, "ByteLevel", {"add_prefix_space", "trim_offsets", "use_regex"}));
  post_processing made;
  const bool keeps = TROUPE_TRY(truth_or(part, "add_prefix_space", true));
  if (TROUPE_TRY(truth_or(part, "trim_offsets", true))) made.trims.push_back({keeps});
  return made;
}

expected<post_processing> read_roberta(const json_part& part) {
  TROUPE_TRY(check_members(part, "RobertaProcessing", {"sep", "cls", "trim_offsets", "add_prefix_space"}));
  const token_id close = TROUPE_TRY(read_named_id(part, "sep"));
  const token_id open = TROUPE_TRY(read_named_id(part, "cls"));
  const bool trims = TROUPE_TRY(truth_or(part, "trim_offsets", true));
  return roberta_processing(open, close, trims, TROUPE_TRY(truth_or(part, "add_prefix_space", true)));
}

/// One part with a template, and others that only trim.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the JSON text, which has a limit
expected<post_processing> read_sequence(const json_part& part) {
  TROUPE_TRY(check_members(part, "Sequence", {"processors"}));
  post_processing made;
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(part.at("processors")).items())) {
    post_processing next = TROUPE_TRY(read_post_processor(each));
    if (made.has_template && (next.has_template || !next.trims.empty())) {
      return unusable(part.where(), "a post-processor behind another one that adds tokens is not supported");
    }
    next.trims.insert(next.trims.begin(), made.trims.begin(), made.trims.end());
    made = std::move(next);
  }
  return made;
}

}  // namespace

std::size_t post_processing::added_count(bool is_pair) const noexcept {
  std::size_t count = 0;
  for (const template_piece& piece : is_pair ? pair : single) count += piece.specials.size();
  return count;
}

post_processing bert_processing(token_id open, token_id close) {
  post_processing made;
  made.has_template = true;
  made.single = {{-1, 0, {open}}, {0, 0, {}}, {-1, 0, {close}}};
  made.pair = {{-1, 0, {open}}, {0, 0, {}}, {-1, 0, {close}}, {1, 1, {}}, {-1, 1, {close}}};
  return made;
}

post_processing roberta_processing(token_id open, token_id close, bool trims, bool adds_space) {
  post_processing made;
  made.has_template = true;
  if (trims) made.trims.push_back({adds_space});
  made.single = {{-1, 0, {open}}, {0, 0, {}}, {-1, 0, {close}}};
  made.pair = {{-1, 0, {open}}, {0, 0, {}}, {-1, 0, {close}}, {-1, 0, {close}}, {1, 0, {}}, {-1, 0, {close}}};
  return made;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the JSON text, which has a limit
expected<post_processing> read_post_processor(const json_part& part) {
  const std::string type = TROUPE_TRY(type_of(part));
  if (type == "TemplateProcessing") return read_template_processing(part);
  if (type == "ByteLevel") return read_trimming(part);
  if (type == "RobertaProcessing") return read_roberta(part);
  if (type == "Sequence") return read_sequence(part);
  if (type == "BertProcessing") {
    TROUPE_TRY(check_members(part, type, {"sep", "cls"}));
    const token_id close = TROUPE_TRY(read_named_id(part, "sep"));
    return bert_processing(TROUPE_TRY(read_named_id(part, "cls")), close);
  }
  return unusable(part.where(), "a post-processor of type \"" + type + "\" is not supported");
}

}  // namespace troupe
