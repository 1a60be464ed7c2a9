#include "runtime/data/text_cut.hpp"

#include "runtime/data/option_text.hpp"

namespace troupe {

std::vector<std::string> text_lengths::remarks() const {
  if (cut == 0) return {};
  return {std::to_string(cut) + " of " + std::to_string(texts) + " texts have more than " + std::to_string(*most) +
          " tokens, and are cut"};
}

expected<text_lengths> lengths_of(const data_request& request, const text_folder& folder) {
  text_lengths made;
  const auto asked = request.options.count("max-length");
  made.most = asked ? std::optional(static_cast<std::uint64_t>(*asked)) : folder.tokens_max();
  made.are_alike = request.options.text("padding") == "max-length";
  if (!made.are_alike || made.most) return made;
  return fail(error_code::value_out_of_range, request.specification,
              "padding=max-length needs a length, and tokenizer_config.json says none", "give one: max-length=128");
}

std::string reading_of(const data_request& request) {
  std::string text = request.options_text;
  if (const data_option_value* folder = request.options.find_value("tokenizer")) {
    const std::string part = ",tokenizer=" + value_text(*folder, '+');
    if (const std::size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
  }
  return text;
}

}  // namespace troupe
