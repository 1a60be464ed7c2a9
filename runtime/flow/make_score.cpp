#include "runtime/flow/make_score.hpp"

#include <utility>

#include "messages/exception_text.hpp"

namespace troupe {

expected<score> make_score(scorer& by, std::uint32_t sink, const activation& output, const std::string& stage) try {
  score made;
  made.id = output.id;
  made.sink = sink;
  made.samples = output.row_count();
  if (output.is_empty_part()) return made;
  return by.evaluate(output.tensors, output, made).map([&] { return std::move(made); });
} catch (...) {
  return fail(error_code::metric_failed, stage, "the metric threw: " + current_exception_text());
}

}  // namespace troupe
