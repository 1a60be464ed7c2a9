#include "runtime/watch/watch.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "messages/try.hpp"
#include "runtime/watch/best_checkpoint.hpp"
#include "runtime/watch/best_link.hpp"

namespace troupe {
namespace {

constexpr std::chrono::milliseconds look_interval{250};

class watcher {
 public:
  watcher(const watch_request& asked, const watch_means& means) : asked_(asked), means_(means) {}

  expected<watch_report> run() {
    TROUPE_TRY(begin());
    for (;;) {
      if (asked_.patience && best_.without_improvement() >= *asked_.patience) return end(watch_stop::patience);
      TROUPE_TRY(look());
      if (const seen_checkpoint* next = first_ready()) {
        if (!TROUPE_TRY(evaluate(*next))) return end(watch_stop::interrupted);
        last_news_ = means_.now();
        continue;
      }
      const bool is_idle = std::ranges::none_of(states_, [](const auto& each) { return is_open(each.second); });
      if (is_idle && asked_.once) return end(watch_stop::once);
      if (is_idle && asked_.timeout && means_.now() - last_news_ >= *asked_.timeout) return end(watch_stop::timeout);
      if (!means_.pause(look_interval)) return end(watch_stop::interrupted);
    }
  }

 private:
  using phase = checkpoint_state::phase;

  static bool is_open(const checkpoint_state& state) { return state.now() != phase::failed; }

  /// A killed program may have left link and scalars behind: they follow from the table.
  expected<void> begin() {
    seen_ = TROUPE_TRY(checkpoints_in(asked_.folder));
    TROUPE_TRY(check_link(asked_.folder / best_link_name));
    table_ = TROUPE_TRY(watch_table::open(asked_.state / watch_table_name, asked_.options));
    last_news_ = means_.now();
    for (const watch_row& row : table_->rows()) {
      TROUPE_TRY(count(row));
      TROUPE_TRY(log(row));
    }
    return link();
  }

  expected<void> count(const watch_row& row) {
    if (row.problem) return {};
    const double value = TROUPE_TRY(asked_.monitor.of(row.metrics));
    best_.add(row.checkpoint, value);
    return {};
  }

  expected<void> link() {
    if (!best_.name()) return {};
    return replace_link(asked_.folder / best_link_name, *best_.name());
  }

  expected<void> log(const watch_row& row) {
    if (means_.scalars == nullptr || row.problem) return {};
    return means_.scalars->write(row.step, scalars_in(row.metrics)).map([](std::size_t) {});
  }

  expected<void> look() {
    seen_ = TROUPE_TRY(checkpoints_in(asked_.folder));
    std::erase_if(states_, [&](const auto& state) {
      return std::ranges::find(seen_, state.first, &seen_checkpoint::name) == seen_.end();
    });
    for (const seen_checkpoint& each : seen_) {
      if (table_->has(each.name)) continue;
      const auto stamp = stamp_of(asked_.folder / each.name);
      if (!stamp || table_->has_failed(each.name, stamp->hash)) continue;
      const auto now = means_.now();
      const auto [found, is_new] = states_.try_emplace(each.name, *stamp, now);
      const bool has_changed = found->second.look(*stamp, each.is_unnamed, now, means_.wall_now(), asked_.waits);
      if (is_new || has_changed) last_news_ = now;
      if (found->second.now() == phase::failed) TROUPE_TRY(add_failed(each, found->second, 0));
    }
    return {};
  }

  [[nodiscard]] const seen_checkpoint* first_ready() const {
    const auto is_ready = [&](const seen_checkpoint& each) {
      const auto found = states_.find(each.name);
      return found != states_.end() && found->second.now() == phase::ready;
    };
    const auto found = std::ranges::find_if(seen_, is_ready);
    return found == seen_.end() ? nullptr : &*found;
  }

  /// False: the watch was interrupted.
  expected<bool> evaluate(const seen_checkpoint& next) {
    checkpoint_state& state = states_.at(next.name);
    const auto began = means_.now();
    auto metrics = means_.evaluate(next);
    const double seconds = std::chrono::duration<double>(means_.now() - began).count();
    if (!metrics && metrics.error().code == error_code::interrupted) return false;
    if (!metrics && is_of_the_watch(metrics.error())) return tl::make_unexpected(std::move(metrics.error()));
    const auto stamp = stamp_of(asked_.folder / next.name);
    if (!stamp || *stamp != state.stamp()) return true;  // something else was read than is there now
    if (metrics) {
      TROUPE_TRY(add({.step = next.step,
                      .checkpoint = next.name,
                      .stamp = stamp->hash,
                      .seconds = seconds,
                      .metrics = std::move(*metrics)}));
      return true;
    }
    state.fail(metrics.error(), means_.now(), means_.wall_now(), asked_.waits);
    if (state.now() == phase::failed) {
      TROUPE_TRY(add_failed(next, state, seconds));
    } else if (means_.tell_doubt) {
      means_.tell_doubt(next, *state.cause());
    }
    return true;
  }

  expected<void> add_failed(const seen_checkpoint& which, const checkpoint_state& state, double seconds) {
    return add({.step = which.step,
                .checkpoint = which.name,
                .stamp = state.stamp().hash,
                .seconds = seconds,
                .problem = state.cause()});
  }

  /// A monitored value that is not there is said before the row is kept.
  expected<void> add(watch_row row) {
    if (!row.problem) TROUPE_TRY(asked_.monitor.of(row.metrics));
    states_.erase(row.checkpoint);
    TROUPE_TRY(table_->append(std::move(row)));
    const watch_row& added = table_->rows().back();
    const auto before = best_.name();
    TROUPE_TRY(count(added));
    TROUPE_TRY(link());
    TROUPE_TRY(log(added));
    if (means_.tell) means_.tell(added, best_.name() != before);
    return {};
  }

  expected<watch_report> end(watch_stop stop) const {
    return watch_report{stop, table_->rows(), best_.name(), best_.value()};
  }

  const watch_request& asked_;
  const watch_means& means_;
  std::unique_ptr<watch_table> table_;
  best_checkpoint best_{asked_.larger_is_better};
  std::vector<seen_checkpoint> seen_;
  /// By name; of those without a row.
  std::map<std::string, checkpoint_state> states_;
  std::chrono::steady_clock::time_point last_news_;
};

}  // namespace

std::string_view name_of(watch_stop stop) noexcept {
  switch (stop) {
    case watch_stop::once:
      return "once";
    case watch_stop::timeout:
      return "timeout";
    case watch_stop::patience:
      return "patience";
    case watch_stop::interrupted:
      return "interrupted";
  }
  return "";
}

bool is_of_the_watch(const error& problem) noexcept {
  const int number = static_cast<int>(problem.code);
  const bool is_of_words = number / 100 == 1 && problem.code != error_code::metric_does_not_fit;
  return is_of_words || number / 100 == 3 || number / 100 == 4;
}

expected<watch_report> watch(const watch_request& asked, const watch_means& means) {
  return watcher(asked, means).run();
}

}  // namespace troupe
