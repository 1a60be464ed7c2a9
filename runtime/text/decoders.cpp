#include <algorithm>
#include <array>
#include <utility>

#include "messages/try.hpp"
#include "runtime/text/byte_alphabet.hpp"
#include "runtime/text/decoder.hpp"
#include "runtime/text/tokenizer_part.hpp"
#include "runtime/text/utf8.hpp"

namespace troupe {
namespace {

using made_decoder = expected<std::unique_ptr<const decoder>>;
using token_texts = std::vector<std::string>;

constexpr auto unknown_character = "\xEF\xBF\xBD";
constexpr auto metaspace = "\xE2\x96\x81";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  std::string made;
  std::size_t done = 0;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, done)) {
    made.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  made.append(text, done);
  text = std::move(made);
}

/// Spaces before punctuation and English contractions.
void clean(std::string& text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> changes = {{{" .", "."},
                                                                                             {" ?", "?"},
                                                                                             {" !", "!"},
                                                                                             {" ,", ","},
                                                                                             {" ' ", "'"},
                                                                                             {" n't", "n't"},
                                                                                             {" 'm", "'m"},
                                                                                             {" do not", " don't"},
                                                                                             {" 's", "'s"},
                                                                                             {" 've", "'ve"},
                                                                                             {" 're", "'re"}}};
  for (const auto& [from, to] : changes) replace_all(text, from, to);
}

/// A text in which bytes that are no UTF-8 are replaced: as many bytes at a time as can begin a character.
std::string repaired(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t wrong = utf8::invalid_utf8_at(bytes);
    text += bytes.substr(0, wrong);
    if (wrong == std::string_view::npos) break;
    bytes.remove_prefix(wrong);
    std::size_t length = 1;
    const std::size_t promised = utf8::length_from(bytes.front());
    for (; length < promised && length < bytes.size(); ++length) {
      // Whether these bytes can be continued to a character.
      std::string candidate(bytes.substr(0, length + 1));
      bool can_continue = false;
      for (const char fill : {'\x80', '\xBF', '\x90', '\x9F'}) {
        std::string filled = candidate;
        filled.resize(promised, fill);
        can_continue = can_continue || utf8::invalid_utf8_at(filled) == std::string::npos;
      }
      if (!can_continue) break;
    }
    text += unknown_character;
    bytes.remove_prefix(length);
  }
  return text;
}

class word_piece_decoder : public decoder {
 public:
  word_piece_decoder(std::string prefix, bool cleans) : prefix_(std::move(prefix)), cleans_(cleans) {}
  void apply(token_texts& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0 && token.starts_with(prefix_)) {
        token.erase(0, prefix_.size());
      } else if (i > 0) {
        token.insert(0, 1, ' ');
      }
      if (cleans_) clean(token);
    }
  }

 private:
  std::string prefix_;
  bool cleans_;
};

class byte_level_decoder : public decoder {
 public:
  void apply(token_texts& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      std::string part;
      bool is_known = true;
      for (std::size_t at = 0; at < token.size();) {
        const auto byte = byte_of_character(utf8::next(token, at));
        is_known = is_known && byte.has_value();
        part += static_cast<char>(byte.value_or(0));
      }
      bytes += is_known ? part : token;
    }
    tokens = {repaired(bytes)};
  }
};

class metaspace_decoder : public decoder {
 public:
  metaspace_decoder(std::string replacement, bool drops_first)
      : replacement_(std::move(replacement)), drops_first_(drops_first) {}
  void apply(token_texts& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      replace_all(tokens[i], replacement_, i == 0 && drops_first_ ? "" : " ");
    }
  }

 private:
  std::string replacement_;
  bool drops_first_;
};

class byte_fallback_decoder : public decoder {
 public:
  void apply(token_texts& tokens) const override {
    token_texts made;
    std::string bytes;
    const auto end_bytes = [&] {
      if (utf8::invalid_utf8_at(bytes) == std::string::npos) {
        if (!bytes.empty()) made.push_back(bytes);
      } else {
        made.insert(made.end(), bytes.size(), unknown_character);
      }
      bytes.clear();
    };
    for (const std::string& token : tokens) {
      if (const auto byte = byte_of(token)) {
        bytes += *byte;
        continue;
      }
      end_bytes();
      made.push_back(token);
    }
    end_bytes();
    tokens = std::move(made);
  }

 private:
  /// "<0x0A>"
  static std::optional<char> byte_of(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
    unsigned value = 0;
    for (const char c : {token[3], token[4]}) {
      const auto digit =
          std::string_view("0123456789abcdef").find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c));
      if (digit == std::string_view::npos) return std::nullopt;
      value = value * 16 + static_cast<unsigned>(digit);
    }
    return static_cast<char>(value);
  }
};

class bpe_decoder : public decoder {
 public:
  explicit bpe_decoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void apply(token_texts& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], suffix_, i + 1 < tokens.size() ? " " : "");
  }

 private:
  std::string suffix_;
};

class replace_decoder : public decoder {
 public:
  replace_decoder(text_pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(token_texts& tokens) const override {
    for (std::string& token : tokens) {
      std::string made;
      std::size_t done = 0;
      const bool is_done = pattern_.find(token, [&](std::size_t begin, std::size_t end) {
        made.append(token, done, begin - done).append(content_);
        done = end;
      });
      if (!is_done) continue;
      made.append(token, done);
      token = std::move(made);
    }
  }

 private:
  text_pattern pattern_;
  std::string content_;
};

class fuse_decoder : public decoder {
 public:
  void apply(token_texts& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens = {all};
  }
};

class strip_decoder : public decoder {
 public:
  strip_decoder(std::string content, std::size_t start, std::size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void apply(token_texts& tokens) const override {
    for (std::string& token : tokens) {
      for (std::size_t i = 0; i < start_ && token.starts_with(content_); ++i) token.erase(0, content_.size());
      for (std::size_t i = 0; i < stop_ && token.ends_with(content_); ++i) token.resize(token.size() - content_.size());
    }
  }

 private:
  std::string content_;
  std::size_t start_;
  std::size_t stop_;
};

class sequence_decoder : public decoder {
 public:
  explicit sequence_decoder(std::vector<std::unique_ptr<const decoder>> parts) : parts_(std::move(parts)) {}
  void apply(token_texts& tokens) const override {
    for (const auto& part : parts_) part->apply(tokens);
  }

 private:
  std::vector<std::unique_ptr<const decoder>> parts_;
};

made_decoder read_strip(const json_part& part) {
  TROUPE_TRY(check_members(part, "Strip", {"content", "start", "stop"}));
  constexpr std::size_t most = 1000;
  std::string content = TROUPE_TRY(text_or(part, "content", " "));
  if (utf8::count(content) != 1)
    return unusable(part.where(), "a decoder Strip has a content that is not one character");
  const std::size_t start = TROUPE_TRY(count_in(TROUPE_TRY(part.at("start")), most));
  const std::size_t stop = TROUPE_TRY(count_in(TROUPE_TRY(part.at("stop")), most));
  return std::make_unique<strip_decoder>(std::move(content), start, stop);
}

made_decoder read_configured_decoder(const json_part& part, const std::string& type) {
  if (type == "WordPiece") {
    TROUPE_TRY(check_members(part, type, {"prefix", "cleanup"}));
    const std::string prefix = TROUPE_TRY(text_or(part, "prefix", "##"));
    return make_word_piece_decoder(prefix, TROUPE_TRY(truth_or(part, "cleanup", true)));
  }
  if (type == "Metaspace") {
    TROUPE_TRY(check_members(part, type, {"replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"}));
    const std::string replacement = TROUPE_TRY(text_or(part, "replacement", metaspace));
    const bool adds = TROUPE_TRY(truth_or(part, "add_prefix_space", true));
    const std::string scheme = TROUPE_TRY(text_or(part, "prepend_scheme", "always"));
    return std::make_unique<metaspace_decoder>(replacement, adds && scheme != "never");
  }
  if (type == "Replace") {
    TROUPE_TRY(check_members(part, type, {"pattern", "content"}));
    text_pattern pattern = TROUPE_TRY(read_pattern(TROUPE_TRY(part.at("pattern"))));
    return std::make_unique<replace_decoder>(std::move(pattern), TROUPE_TRY(text_or(part, "content", "")));
  }
  if (type == "BPEDecoder") {
    TROUPE_TRY(check_members(part, type, {"suffix"}));
    return std::make_unique<bpe_decoder>(TROUPE_TRY(text_or(part, "suffix", "</w>")));
  }
  return unusable(part.where(), "a decoder of type \"" + type + "\" is not supported");
}

}  // namespace

std::unique_ptr<const decoder> make_word_piece_decoder(const std::string& prefix, bool cleans) {
  return std::make_unique<word_piece_decoder>(prefix, cleans);
}
std::unique_ptr<const decoder> make_byte_level_decoder() {
  return std::make_unique<byte_level_decoder>();
}

std::unique_ptr<const decoder> make_sentencepiece_decoder(bool strips_first_space) {
  std::vector<std::unique_ptr<const decoder>> parts;
  parts.push_back(std::make_unique<byte_fallback_decoder>());
  parts.push_back(std::make_unique<metaspace_decoder>(metaspace, false));
  parts.push_back(std::make_unique<fuse_decoder>());
  if (strips_first_space) parts.push_back(std::make_unique<strip_decoder>(" ", 1, 0));
  return std::make_unique<sequence_decoder>(std::move(parts));
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the JSON text, which has a limit
expected<std::unique_ptr<const decoder>> read_decoder(const json_part& part) {
  const std::string type = TROUPE_TRY(type_of(part));
  if (type == "Sequence") {
    TROUPE_TRY(check_members(part, type, {"decoders"}));
    std::vector<std::unique_ptr<const decoder>> parts;
    for (const json_part& each : TROUPE_TRY(TROUPE_TRY(part.at("decoders")).items())) {
      parts.push_back(TROUPE_TRY(read_decoder(each)));
    }
    return std::make_unique<sequence_decoder>(std::move(parts));
  }
  if (type == "ByteLevel") {
    TROUPE_TRY(check_members(part, type, {"add_prefix_space", "trim_offsets", "use_regex"}));
    return make_byte_level_decoder();
  }
  if (type == "Strip") return read_strip(part);
  if (type != "Fuse" && type != "ByteFallback") return read_configured_decoder(part, type);
  TROUPE_TRY(check_members(part, type, {}));
  if (type == "Fuse") return std::make_unique<fuse_decoder>();
  return std::make_unique<byte_fallback_decoder>();
}

}  // namespace troupe
