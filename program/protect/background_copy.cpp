#include "program/protect/background_copy.hpp"

#include <utility>

#include "messages/check.hpp"
#include "program/models/own_thread.hpp"

namespace troupe {

void background_copy::begin(std::size_t steps, make_function make) {
  TROUPE_CHECK(!maker_.joinable() && !made_, "the copy before it was taken");
  given_up_ = std::stop_source();
  made_ = finished{fail(error_code::internal, "weights", "no copy was made"), steps};
  auto started = start_thread("weights", [this, make = std::move(make)] {
    made_->state = caught("weights", "they could not be copied", [&] { return make(given_up_.get_token()); });
  });
  if (started) {
    maker_ = std::move(*started);
  } else {
    made_->state = tl::make_unexpected(std::move(started.error()));
  }
}

std::optional<background_copy::finished> background_copy::take(bool gives_up) {
  if (gives_up) given_up_.request_stop();
  if (maker_.joinable()) maker_.join();
  return std::exchange(made_, std::nullopt);
}

}  // namespace troupe
