#include "program/run/run_log.hpp"

#include <utility>

namespace troupe {

expected<run_log> run_log::open(const log_options& options) {
  return log_writer::open({.file = options.file, .format = options.format}).map([&](auto writer) {
    return run_log(options, std::move(writer));
  });
}

evaluation_hooks run_log::attach(evaluation_hooks hooks) const {
  auto writer = is_replaced_by(hooks) ? nullptr : writer_;
  return attach_with(std::move(writer), std::move(hooks));
}

evaluation_hooks run_log::attach_to_hook(evaluation_hooks hooks) const {
  return hooks.on_log ? attach_with(nullptr, std::move(hooks)) : hooks;
}

evaluation_hooks run_log::attach_with(std::shared_ptr<log_writer> writer, evaluation_hooks hooks) const {
  hooks.on_log = [level = level_, writer = std::move(writer),
                  of_user = std::move(hooks.on_log)](const log_record& record) {
    if (writer && record.level >= level.value_or(log_level::warning)) writer->write(record);
    if (of_user && record.level >= level.value_or(log_level::info)) of_user(record);
  };
  return hooks;
}

}  // namespace troupe
