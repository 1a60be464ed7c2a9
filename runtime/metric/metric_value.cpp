#include <limits>
#include <utility>

#include "messages/check.hpp"
#include "runtime/metric/metric_lookup.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/suggest/suggest.hpp"
#include <troupe/error.hpp>
#include <troupe/metric.hpp>
#include <troupe/metric_of.hpp>

namespace troupe {

namespace {

using field = metric_value::field;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
  return text.empty() ? "none" : text;
}

const field& find_field(const metric_value& metric, const std::string& name) {
  for (const field& each : metric.fields) {
    if (each.name == name) return each;
  }
  throw_unknown("metric " + metric.name, "field", name, names_of(metric.fields));
}

/// How a field is read: "value(\"mean\")".
std::string reader_of(const field& of) {
  const char* reader = of.is_list ? (of.is_count ? "counts" : "column") : (of.is_count ? "count" : "value");
  return std::string(reader) + "(\"" + of.name + "\")";
}

[[noreturn]] void throw_other_form(const metric_value& metric, const field& found, const char* wanted) {
  throw error_exception({error_code::unknown_name, "metric " + metric.name,
                         "its field \"" + found.name + "\" is no " + wanted, "read it with " + reader_of(found)});
}

const field& scalar(const metric_value& metric, const field& found) {
  if (found.is_list) throw_other_form(metric, found, "single number");
  return found;
}

double number(const field& of) {
  return of.is_count ? static_cast<double>(of.counts.at(0)) : of.reals.at(0);
}

}  // namespace

void check_state_size(std::size_t words, std::size_t expected_words) {
  TROUPE_CHECK(words == expected_words, "states of one metric have one size");
}

double metric_value::value() const {
  if (fields.empty()) throw_unknown("metric " + name, "field", "value", {});
  return number(scalar(*this, fields.front()));
}

double metric_value::value(const std::string& field_name) const {
  return number(scalar(*this, find_field(*this, field_name)));
}

std::uint64_t metric_value::count(const std::string& field_name) const {
  const field& found = find_field(*this, field_name);
  if (found.is_list || !found.is_count) throw_other_form(*this, found, "single count");
  return found.counts.at(0);
}

std::vector<double> metric_value::column(const std::string& field_name) const {
  const field& found = find_field(*this, field_name);
  if (!found.is_list) throw_other_form(*this, found, "list");
  if (found.is_count) return {found.counts.begin(), found.counts.end()};
  return found.reals;
}

const std::vector<std::uint64_t>& metric_value::counts(const std::string& field_name) const {
  const field& found = find_field(*this, field_name);
  if (!found.is_list || !found.is_count) throw_other_form(*this, found, "list of counts");
  return found.counts;
}

field real_field(std::string name, double real) {
  return {std::move(name), false, false, {real}, {}};
}

field count_field(std::string name, std::uint64_t count) {
  return {std::move(name), false, true, {}, {count}};
}

field real_list(std::string name, std::vector<double> reals) {
  return {std::move(name), true, false, std::move(reals), {}};
}

field count_list(std::string name, std::span<const std::uint64_t> counts) {
  return {std::move(name), true, true, {}, {counts.begin(), counts.end()}};
}

double share(std::uint64_t part, std::uint64_t total) noexcept {
  if (total == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(part) / static_cast<double>(total);
}

void throw_unknown(std::string where, const std::string& kind, const std::string& name,
                   const std::vector<std::string>& known) {
  throw error_exception({error_code::unknown_name, std::move(where),
                         "there is no " + kind + " \"" + name + "\"; there are: " + listed(known),
                         known.empty() ? std::string() : suggest_fix(name, known)});
}

const metric_value& find_metric(const std::vector<metric_value>& metrics, const std::string& name,
                                const std::string& where) {
  for (const metric_value& each : metrics) {
    if (each.name == name) return each;
  }
  const std::string canonical = canonical_metric_name(name);
  for (const metric_value& each : metrics) {
    if (each.name == canonical) return each;
  }
  throw_unknown(where, "metric", name, names_of(metrics));
}

}  // namespace troupe
