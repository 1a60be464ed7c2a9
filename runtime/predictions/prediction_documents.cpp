#include "runtime/predictions/prediction_documents.hpp"

#include <cerrno>
#include <filesystem>
#include <utility>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/predictions/unwritable.hpp"

namespace troupe {
namespace {

expected<void> told(const std::string& file, int reason) {
  return reason == 0 ? expected<void>{} : expected<void>(predictions_unwritable(file, reason));
}

expected<void> write_whole(file_replacement& to, const std::string& file, const std::string& content) {
  TROUPE_TRY(told(file, to.write(content)));
  return told(file, to.publish());
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
  if (std::error_code none; std::filesystem::is_directory(made->file_, none)) {
    return predictions_unwritable(made->file_, EISDIR);
  }
  TROUPE_TRY(told(made->file_, made->main_.open()));
  return made;
}

expected<void> prediction_documents::write(const metric_total& total) try {
  for (const prediction_document& each : metric_->predictions(total, with_candidates_)) {
    if (each.suffix.empty()) {
      TROUPE_TRY(write_whole(main_, file_, each.content));
      continue;
    }
    const std::string beside = file_beside(file_, each.suffix);
    file_replacement file(beside);
    TROUPE_TRY(told(beside, file.open()));
    TROUPE_TRY(write_whole(file, beside, each.content));
  }
  return {};
} catch (...) {
  return fail(error_code::metric_failed, "metric " + metric_->name(),
              "its predictions() threw: " + current_exception_text(), "mend the metric");
}

}  // namespace troupe
