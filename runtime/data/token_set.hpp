#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "messages/try.hpp"
#include "runtime/data/text_cut.hpp"
#include "runtime/data/text_folder.hpp"
#include "runtime/data/token_rows.hpp"
#include <troupe/data_set.hpp>

namespace troupe {

/// What all data sets have whose samples are rows of tokens.
struct token_parts {
  std::string name;
  std::string path;
  std::string reading;
  text_folder folder;
  text_lengths lengths;
  token_rows tokens = {};
};

/// A data set with a row of tokens for each sample. `Parts` derives from token_parts.
template <class Parts>
class token_set : public data_set {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept final { return parts_.tokens.size(); }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const final {
    return {static_cast<std::int64_t>(parts_.tokens.longest())};
  }
  [[nodiscard]] std::string name() const final { return parts_.name; }
  [[nodiscard]] std::string reading() const final { return parts_.reading; }
  [[nodiscard]] std::vector<std::string> remarks() const final { return parts_.lengths.remarks(); }
  [[nodiscard]] bool has_varying_sizes() const noexcept final {
    return !parts_.lengths.are_alike && !parts_.tokens.are_alike();
  }
  [[nodiscard]] std::map<std::string, std::int64_t> padding() const override {
    return {{"input_ids", padding_token()}, {"attention_mask", 0}, {"token_type_ids", 0}};
  }
  [[nodiscard]] std::vector<std::string> files() const final {
    std::vector<std::string> all = parts_.folder.files;
    all.insert(all.begin(), parts_.path);
    return all;
  }

 protected:
  explicit token_set(Parts parts) : parts_(std::move(parts)) {}
  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }

  /// How many tokens the samples have, with padding.
  [[nodiscard]] std::uint64_t length_of(sample_range range) const {
    return parts_.lengths.are_alike ? *parts_.lengths.most : parts_.tokens.longest_of(range);
  }
  [[nodiscard]] expected<named_tensors> inputs_of(sample_range range) const {
    return parts_.tokens.inputs(range, length_of(range), parts_.folder.inputs, padding_token(), parts_.name);
  }

 private:
  [[nodiscard]] token_id padding_token() const { return parts_.folder.reader->pad_id().value_or(0); }

  const Parts parts_;
};

}  // namespace troupe
