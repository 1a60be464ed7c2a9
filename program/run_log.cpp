#include "program/run_log.hpp"

#include <utility>

namespace troupe {

expected<run_log> run_log::open(const log_options& options) {
  return log_writer::open({.file = options.file, .format = options.format}).map([&](auto writer) {
    return run_log(options, std::move(writer));
  });
}

evaluation_hooks run_log::attach(evaluation_hooks hooks) const {
  const auto writer = has_file_ || !hooks.on_log ? writer_ : nullptr;
  hooks.on_log = [level = level_, writer, of_user = std::move(hooks.on_log)](const log_record& record) {
    if (writer && record.level >= level.value_or(log_level::warning)) writer->write(record);
    if (of_user && record.level >= level.value_or(log_level::info)) of_user(record);
  };
  return hooks;
}

}  // namespace troupe
