#include "runtime/monitor/scalar_name.hpp"
#include <troupe/result.hpp>
#include <troupe/scalars.hpp>

namespace troupe {
namespace {

void add(const std::vector<metric_value>& metrics, const std::string& prefix, std::vector<scalar>& to) {
  for (const metric_value& metric : metrics) {
    for (const metric_value::field& field : metric.fields) {
      const bool is_first = &field == &metric.fields.front();
      const std::string name = scalar_name(prefix + metric.name, field.name, is_first, field.is_count);
      if (!field.is_list && !name.empty()) to.push_back({name, metric.value(field.name)});
    }
  }
}

}  // namespace

std::vector<scalar> scalars_of(const run_result& result) {
  std::vector<scalar> made;
  add(result.metrics, "eval/", made);
  for (std::size_t i = 1; i < result.sinks.size(); ++i) {
    add(result.sinks[i].metrics, "eval/" + result.sinks[i].name + "/", made);
  }
  return made;
}

}  // namespace troupe
