#include "runtime/text/read_tokenizer.hpp"
#include "runtime/text/tokenizer_part.hpp"

namespace troupe {

made_parts read_sentencepiece(const std::filesystem::path& file, const tokenizer_settings& /*settings*/) {
  return unusable(file.string(), "models of SentencePiece are not supported");
}

}  // namespace troupe
