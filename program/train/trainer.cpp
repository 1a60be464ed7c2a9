#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "program/engine_state.hpp"
#include "program/start/journal_pins.hpp"
#include "program/train/train_advice.hpp"
#include "program/train/trainer_state.hpp"
#include "runtime/checkpoint/checkpoint_layout.hpp"
#include "runtime/checkpoint/load_files.hpp"
#include "runtime/data/data_warnings.hpp"
#include "runtime/report/writable_directory.hpp"
#include "runtime/step/step_journal.hpp"
#include <troupe/program.hpp>
#include <troupe/topology.hpp>

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// A file or an object.
expected<data_set_ptr> opened(const std::string& name, const data_set_ptr& object) {
  if (object) return object;
  return open_data(name);
}

/// Hours before there is anything to write.
expected<void> check_places(const train_options& options) {
  if (!options.save_weights.empty()) {
    const fs::path file = options.save_weights;
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    TROUPE_TRY(check_writable_directory(folder, {file.filename().string()}));
  }
  if (options.save.empty()) return {};
  TROUPE_TRY(check_writable_directory(options.save));
  if (options.resume || !has_checkpoint(options.save)) return {};
  return fail(error_code::flags_contradict, "save", "the folder " + options.save + " has checkpoints of a training",
              "go on with it (--resume), or name another folder");
}

expected<void> check_order(const train_options& options, const data_set& data) {
  if (options.order == data_order::sequential || !data.has_varying_sizes() || !data.padding().empty()) {
    return {};
  }
  return fail(error_code::flags_contradict, "order",
              data.name() + " makes its samples as long as the longest beside them, and can be read in order alone",
              "add --order sequential, or give all samples one length (--padding max-length of squad)");
}

epoch_reading reading_of(const train_options& options, std::uint64_t samples) {
  return {.micro_batch = options.run.micro_batch,
          .samples = samples,
          .is_shuffled = options.order == data_order::shuffled,
          .seed = options.seed,
          .workers = options.run.data_workers};
}

/// Nothing is read ahead for one micro-batch.
epoch_reading reading_of_sample(const train_options& options, std::uint64_t samples) {
  epoch_reading made = reading_of(options, samples);
  made.workers = 1;
  return made;
}

std::string journal_in(const train_options& options) {
  return (fs::path(options.save) / "journal").string();
}

/// In the folder of the checkpoints. A training that is resumed where none is, as that of an older version, begins one.
expected<training_journal_options> journal_of(const train_options& options, const data_set& data,
                                              std::uint64_t samples) {
  if (options.save.empty()) return training_journal_options();
  const std::string file = journal_in(options);
  std::error_code ignored;
  fs::create_directories(options.save, ignored);  // the journal says why there is none
  training_journal_options made{.file = file, .resume = options.resume && fs::exists(file, ignored)};
  made.pins = {{"data", TROUPE_TRY(identity_of_data(data))},
               {"samples", std::to_string(samples)},
               {"order", options.order == data_order::shuffled ? "shuffled" : "sequential"},
               {"micro_batch", std::to_string(options.run.micro_batch)},
               {"learning_rate", fmt::format("{} {}", options.lr, options.schedule)}};
  return made;
}

expected<void> read_checkpoint(const train_options& options, const train_data_order& order) {
  const auto from = TROUPE_TRY(open_tag(options.save, {}));
  const loaded_checkpoint loaded = TROUPE_TRY(load_states(from));
  const train_state state = TROUPE_TRY(from_client_state(loaded.client_state, order, from.folder.string()));
  // Nothing is compared with it, and options may be others than those in its header.
  remove_needless_journal(journal_in(options), state.losses.size());
  return {};
}

/// Before anything is started, as an error about the journal would not name the option.
expected<void> check_checkpoint(const train_options& options, const train_data_order& order) {
  if (!options.resume || !has_checkpoint(options.save)) return {};
  return read_checkpoint(options, order).map_error([&](error found) {
    return advised_to_load(std::move(found), options.save);
  });
}

/// In a worker, and in the process that tries the model out, it does not return.
expected<std::unique_ptr<training_engine>> make_engine(const train_options& options, const train_objects& objects,
                                                       training_engine_options how) {
  if (objects.module) return training_engine::create(*objects.module, std::move(how));
  if (options.weights.empty() && !options.not_strict) return training_engine::create(options.model, std::move(how));
  return training_engine::create(
      model_with_weights{.arch = options.arch,
                         .model = options.weights.empty() ? std::string() : options.model,
                         .weights = options.weights.empty() ? options.model : options.weights,
                         .not_strict = options.not_strict},
      std::move(how));
}

}  // namespace

/// What the trainer reads, and the first micro-batch as the sample of the engine.
expected<void> trainer::impl::open(const train_options& options, const train_objects& objects,
                                   training_engine_options& how) {
  data = TROUPE_TRY(opened(options.data, objects.data));
  if (objects.eval_data || !options.eval_data.empty()) {
    eval_data = TROUPE_TRY(opened(options.eval_data, objects.eval_data));
  }
  const std::uint64_t count = std::min(data->size(), options.run.limit.value_or(data->size()));
  if (count == 0) return fail(error_code::data_empty, data->name(), "it has no samples", "name data with samples");
  TROUPE_TRY(check_order(options, *data));
  order = {.samples = count, .order = options.order, .seed = options.seed};
  reader = std::make_shared<epoch_reader>(data, reading_of(options, count));
  how.pipeline.sample = TROUPE_TRY(epoch_reader(data, reading_of_sample(options, count)).read({})).inputs;
  return {};
}

expected<std::unique_ptr<trainer>> trainer::create(const train_options& options, train_hooks hooks,
                                                   const train_objects& objects) {
  TROUPE_TRY(check_train_options(options, objects));
  auto how = TROUPE_TRY(engine_options_of(options, objects, hooks));
  const auto no_trainer = [](const auto&) { return std::unique_ptr<trainer>(); };
  if (program::worker() != nullptr) return make_engine(options, objects, std::move(how)).map(no_trainer);
  auto made = std::make_unique<impl>();
  if (options.run.deadline) made->deadline = impl::clock::now() + *options.run.deadline;
  if (!program::is_probe()) TROUPE_TRY(check_places(options));
  TROUPE_TRY(made->open(options, objects, how));
  made->config = options;
  made->hooks = std::move(hooks);
  if (!program::is_probe()) {
    TROUPE_TRY(check_checkpoint(options, made->order));
    how.journal = TROUPE_TRY(journal_of(options, *made->data, made->order.samples));
  }
  made->engine = TROUPE_TRY(make_engine(options, objects, std::move(how)).map_error([&](error found) {
    return advised_of_journal(std::move(found), options.save);
  }));
  made->training().engine->impl_->stop_asked = [state = made.get()] { return state->stop_kind_asked(); };
  made->model_name = made->training().engine->impl_->config.model;
  made->config.run.threads = made->training().engine->impl_->config.run.threads;
  made->warnings = made->engine->warnings();
  for (std::string& each : warnings_about(*made->data)) made->warnings.push_back(std::move(each));
  if (options.resume) {
    TROUPE_TRY(made->resume().map_error([&](error found) {
      return advised_of_journal(advised_to_load(std::move(found), options.save), options.save);
    }));
  }
  if (made->eval_data) TROUPE_TRY(made->try_metrics());
  return std::unique_ptr<trainer>(new trainer(std::move(made)));
}

trainer::trainer(std::unique_ptr<impl> state) : impl_(std::move(state)) {}
trainer::~trainer() = default;
bool trainer::stuck() const noexcept {
  return impl_->stuck;
}
const state_dict& trainer::weights() const noexcept {
  return impl_->weights;
}

expected<train_result> trainer::run() {
  if (std::exchange(impl_->has_run, true)) {
    return fail(error_code::engine_stopped, "trainer", "run() was called before", "create another trainer");
  }
  return impl_->run();
}

void trainer::request_stop(stop_kind kind) noexcept {
  int before = impl_->stop_asked.load();
  const int asked = static_cast<int>(kind);
  while (before < asked && !impl_->stop_asked.compare_exchange_weak(before, asked)) {
  }
  const std::lock_guard lock(impl_->mutex);
  // Between steps alone: it would cut a step short, too.
  if (impl_->is_evaluating) impl_->training().engine->request_stop(kind);
}

expected<void> trainer::impl::resume() {
  if (!has_checkpoint(config.save)) {
    warnings.push_back("there is no checkpoint in " + config.save + ": the training begins at step 0");
    return {};
  }
  const auto loaded = TROUPE_TRY(engine->load_checkpoint(config.save));
  const fs::path place = fs::path(config.save) / loaded.tag;
  state = TROUPE_TRY(from_client_state(loaded.client_state, order, place.string()));
  if (state.applied != engine->global_steps()) {
    return fail(error_code::model_unreadable, place.string(), "its optimizer is of another step than its losses",
                "go on from another checkpoint");
  }
  steps_before = state.steps();
  saved_step = steps_before;
  return {};
}

}  // namespace troupe
