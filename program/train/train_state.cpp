#include "program/train/train_state.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include "messages/try.hpp"

namespace troupe {
namespace {

constexpr const char* state_key = "troupe_train";

/// Thousands of steps are one tensor, and not as many values.
at::Tensor to_tensor(const std::vector<double>& from) {
  at::Tensor made = at::empty({static_cast<std::int64_t>(from.size())}, at::kDouble);
  std::ranges::copy(from, made.data_ptr<double>());
  return made;
}

client_value doubles(const std::vector<double>& from) {
  client_value::list made;
  made.reserve(from.size());
  for (const double each : from) made.emplace_back(each);
  return made;
}

client_value whole(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

client_value metric_to_client(const metric_value& metric) {
  client_value::list fields;
  for (const metric_value::field& each : metric.fields) {
    client_value::list counts;
    for (const std::uint64_t count : each.counts) counts.push_back(whole(count));
    fields.emplace_back(client_state{{"name", each.name},
                                     {"is_list", each.is_list},
                                     {"is_count", each.is_count},
                                     {"reals", doubles(each.reals)},
                                     {"counts", std::move(counts)}});
  }
  return client_state{{"name", metric.name}, {"form", static_cast<int>(metric.form)}, {"fields", std::move(fields)}};
}

/// Reads members of a state; the first that is missing or of another kind is kept in mind.
class state_reader {
 public:
  template <class T>
  T take(const client_state& from, const char* name) {
    const auto found = from.find(name);
    const T* const value = found == from.end() ? nullptr : std::get_if<T>(&found->second.value);
    if (value == nullptr) return note(name), T();
    return *value;
  }
  std::uint64_t whole(const client_state& from, const char* name) {
    const auto number = take<std::int64_t>(from, name);
    if (number < 0) note(name);
    return static_cast<std::uint64_t>(number);
  }
  template <class T>
  std::vector<T> list(const client_state& from, const char* name) {
    std::vector<T> made;
    for (const client_value& each : take<client_value::list>(from, name)) {
      const T* const value = std::get_if<T>(&each.value);
      if (value == nullptr) return note(name), made;
      made.push_back(*value);
    }
    return made;
  }
  std::vector<double> numbers(const client_state& from, const char* name) {
    const auto tensor = take<at::Tensor>(from, name);
    if (!tensor.defined() || tensor.scalar_type() != at::kDouble || tensor.dim() != 1)
      return note(name), std::vector<double>();
    const at::Tensor dense = tensor.contiguous();
    return {dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel()};
  }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  void note(const std::string& name) {
    if (problem_.empty()) problem_ = name;
  }

 private:
  std::string problem_;
};

metric_value metric_from_client(const client_state& from, state_reader& reader) {
  metric_value made{.name = reader.take<std::string>(from, "name"), .fields = {}, .form = metric_form::plain};
  const std::uint64_t form = reader.whole(from, "form");
  if (form > static_cast<std::uint64_t>(metric_form::matrix)) reader.note("form");
  made.form = static_cast<metric_form>(form);
  for (const client_state& each : reader.list<client_state>(from, "fields")) {
    metric_value::field field{.name = reader.take<std::string>(each, "name"),
                              .is_list = reader.take<bool>(each, "is_list"),
                              .is_count = reader.take<bool>(each, "is_count"),
                              .reals = reader.list<double>(each, "reals"),
                              .counts = {}};
    for (const std::int64_t count : reader.list<std::int64_t>(each, "counts")) {
      field.counts.push_back(static_cast<std::uint64_t>(count));
    }
    if ((field.is_count ? field.counts.size() : field.reals.size()) == 0 && !field.is_list) reader.note("fields");
    made.fields.push_back(std::move(field));
  }
  if (made.fields.empty()) reader.note("fields");
  return made;
}

train_evaluation evaluation_from_client(const client_state& from, state_reader& reader) {
  train_evaluation made{.step = reader.whole(from, "step"), .samples = reader.whole(from, "samples")};
  for (const client_state& each : reader.list<client_state>(from, "metrics")) {
    made.metrics.push_back(metric_from_client(each, reader));
  }
  return made;
}

const char* name_of(data_order order) {
  return order == data_order::shuffled ? "shuffled" : "sequential";
}

expected<void> check_same(const client_state& from, const train_data_order& data, state_reader& reader,
                          const std::string& place) {
  const std::uint64_t samples = reader.whole(from, "samples");
  const auto order = reader.take<std::string>(from, "order");
  const std::uint64_t seed = reader.whole(from, "seed");
  if (!reader.problem().empty()) return {};
  const auto other = [&](const char* option, const std::string& saved, const std::string& given) {
    return fail(error_code::flags_contradict, option,
                fmt::format("the checkpoint {} is of a training with {}, and now it is {}", place, saved, given),
                "give what the training was begun with, or begin another one in another folder");
  };
  if (samples != data.samples) {
    return other("data", fmt::format("{} samples", samples), fmt::format("{}", data.samples));
  }
  if (order != name_of(data.order)) return other("order", "the order " + order, name_of(data.order));
  if (seed != data.seed) return other("seed", fmt::format("the seed {}", seed), fmt::format("{}", data.seed));
  return {};
}

}  // namespace

client_state to_client_state(const train_state& state, const train_data_order& data) {
  client_value::list evaluations;
  for (const train_evaluation& each : state.evaluations) {
    client_value::list metrics;
    for (const metric_value& metric : each.metrics) metrics.push_back(metric_to_client(metric));
    evaluations.emplace_back(
        client_state{{"step", whole(each.step)}, {"samples", whole(each.samples)}, {"metrics", std::move(metrics)}});
  }
  return {{state_key, client_state{{"epoch", whole(state.position.epoch)},
                                   {"sample", whole(state.position.sample)},
                                   {"samples", whole(data.samples)},
                                   {"order", name_of(data.order)},
                                   {"seed", whole(data.seed)},
                                   {"applied", whole(state.applied)},
                                   {"losses", to_tensor(state.losses)},
                                   {"learning_rates", to_tensor(state.learning_rates)},
                                   {"evaluations", std::move(evaluations)}}}};
}

expected<train_state> from_client_state(const client_state& from, const train_data_order& data,
                                        const std::string& place) {
  const auto found = from.find(state_key);
  const auto* const kept = found == from.end() ? nullptr : std::get_if<client_state>(&found->second.value);
  if (kept == nullptr) {
    return fail(error_code::model_unreadable, place, "no training on a data set has saved it",
                "name a folder in which troupe train has saved checkpoints");
  }
  state_reader reader;
  TROUPE_TRY(check_same(*kept, data, reader, place));
  train_state made{.position = {reader.whole(*kept, "epoch"), reader.whole(*kept, "sample")},
                   .losses = reader.numbers(*kept, "losses"),
                   .learning_rates = reader.numbers(*kept, "learning_rates"),
                   .applied = reader.whole(*kept, "applied")};
  for (const client_state& each : reader.list<client_state>(*kept, "evaluations")) {
    made.evaluations.push_back(evaluation_from_client(each, reader));
  }
  if (made.position.sample >= data.samples) reader.note("sample");
  if (made.learning_rates.size() != made.losses.size()) reader.note("learning_rates");
  if (reader.problem().empty()) return made;
  return fail(error_code::model_unreadable, place, "its " + reader.problem() + " is missing or damaged",
              "go on from another checkpoint");
}

}  // namespace troupe
