#include "runtime/optimizer/parameter_layout.hpp"

#include <set>
#include <utility>

#include <ATen/core/Tensor.h>

#include "messages/check.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

constexpr std::uint64_t alignment = 64;
constexpr std::uint64_t bytes_max = std::uint64_t{1} << 46U;

/// http://www.isthe.com/chongo/tech/comp/fnv/ has the constants.
class layout_hash {
 public:
  void add(std::uint64_t number) {
    for (unsigned shift = 0; shift < 64; shift += 8) add_byte(static_cast<std::uint8_t>(number >> shift));
  }
  void add(std::string_view text) {
    add(text.size());
    for (const char each : text) add_byte(static_cast<std::uint8_t>(each));
  }
  void add(const std::vector<stored_tensor>& tensors) {
    add(tensors.size());
    for (const stored_tensor& each : tensors) {
      add(each.name);
      add(static_cast<std::uint64_t>(each.type));
      add(each.sizes.size());
      for (const std::int64_t size : each.sizes) add(static_cast<std::uint64_t>(size));
    }
  }
  void add(const tied_parameter& tie) {
    for (const std::uint64_t each : {tie.parameter, tie.begin, tie.end, tie.places.size()}) add(each);
    for (const std::size_t each : tie.places) add(static_cast<std::uint64_t>(each));
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  void add_byte(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }

  std::uint64_t value_ = 0xcbf29ce484222325U;
};

/// Places the tensors one behind the other from `begin` on, which then is their end.
expected<std::vector<stored_tensor>> place_tensors(const named_tensors& tensors, bool are_parameters,
                                                   std::uint64_t& begin) {
  std::vector<stored_tensor> placed;
  std::set<std::string_view> names;
  const std::string kind = are_parameters ? "parameter " : "buffer ";
  for (const auto& [name, tensor] : tensors) {
    if (!names.insert(name).second) {
      return fail(error_code::model_unsupported, kind + name, "two have this name",
                  "Register each parameter and buffer under a name of its own");
    }
    stored_tensor made{.name = name, .sizes = tensor.sizes().vec(), .type = tensor.scalar_type()};
    if (are_parameters && made.type != at::kFloat && made.type != at::kDouble) {
      return fail(error_code::model_unsupported, kind + name,
                  std::string("it is of type ") + c10::toString(made.type) + ", expected float32 or float64",
                  "Convert the model to float32 before it is trained");
    }
    made.elements = static_cast<std::uint64_t>(tensor.numel());
    made.offset = begin;
    if (made.elements > bytes_max / 16 || begin + made.bytes() > bytes_max / 16) {
      return fail(error_code::model_unsupported, kind + name, "the tensors of one stage have more than 4 TiB",
                  "Cut the model into more stages");
    }
    begin += (made.bytes() + alignment - 1) / alignment * alignment;
    placed.push_back(std::move(made));
  }
  return placed;
}

}  // namespace

expected<parameter_layout> parameter_layout::make(const named_tensors& parameters, const named_tensors& buffers,
                                                  const optimizer_options& options, std::vector<tied_parameter> ties) {
  TROUPE_TRY(check(options));
  parameter_layout made;
  made.options_ = options;
  made.parameters_ = TROUPE_TRY(place_tensors(parameters, true, made.section_bytes_));
  made.buffers_ = TROUPE_TRY(place_tensors(buffers, false, made.buffer_bytes_));
  made.ties_ = std::move(ties);
  made.place_sums();
  layout_hash hash;
  hash.add(made.parameters_);
  hash.add(made.buffers_);
  for (const std::string_view name : moment_names(options)) hash.add(name);
  for (const tied_parameter& each : made.ties_) hash.add(each);
  made.hash_ = hash.value();
  return made;
}

void parameter_layout::place_sums() {
  sums_ = parameters_;
  sum_bytes_ = section_bytes_;
  for (const tied_parameter& tie : ties_) {
    TROUPE_CHECK(tie.parameter < parameters_.size() && tie.begin < tie.end && tie.end <= tie.places.size(),
                 "a tie is one of parameters and places that there are");
    further_sums_.push_back(sums_.size());
    for (std::size_t place = tie.begin + 1; place < tie.end; ++place) {
      stored_tensor further = parameters_[tie.parameter];
      further.name += " in layer " + std::to_string(tie.places[place]);
      further.offset = sum_bytes_;
      sum_bytes_ += (further.bytes() + alignment - 1) / alignment * alignment;
      sums_.push_back(std::move(further));
    }
  }
}

std::uint64_t parameter_layout::half_bytes() const noexcept {
  return to_page(buffers_begin() + buffer_bytes_);
}

}  // namespace troupe
