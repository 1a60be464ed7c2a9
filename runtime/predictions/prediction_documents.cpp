#include "runtime/predictions/prediction_documents.hpp"

#include <utility>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

expected<void> write_whole(prediction_output& to, const std::string& content) {
  TROUPE_TRY(to.write(content));
  return to.publish();
}

/// "out.json" and "nbest": "out.nbest.json".
std::string file_beside(const std::string& file, const std::string& suffix) {
  return file.substr(0, file.rfind('.')) + "." + suffix + ".json";
}

}  // namespace

prediction_documents::prediction_documents(std::string file, metric_ptr metric, bool with_candidates)
    : file_(std::move(file)), metric_(std::move(metric)), with_candidates_(with_candidates), main_(file_) {}

expected<std::shared_ptr<prediction_documents>> prediction_documents::open(std::string file, metric_ptr metric,
                                                                           bool with_candidates) {
  std::shared_ptr<prediction_documents> made(
      new prediction_documents(std::move(file), std::move(metric), with_candidates));
  TROUPE_TRY(made->main_.open());
  return made;
}

expected<void> prediction_documents::write(const metric_total& total) try {
  for (const prediction_document& each : metric_->predictions(total, with_candidates_)) {
    if (each.suffix.empty()) {
      TROUPE_TRY(write_whole(main_, each.content));
      continue;
    }
    prediction_output beside(file_beside(file_, each.suffix));
    TROUPE_TRY(beside.open());
    TROUPE_TRY(write_whole(beside, each.content));
  }
  return {};
} catch (...) {
  return fail(error_code::metric_failed, "metric " + metric_->name(),
              "its predictions() threw: " + current_exception_text(), "mend the metric");
}

}  // namespace troupe
