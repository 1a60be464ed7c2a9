#include <troupe/result.hpp>
#include <troupe/scalars.hpp>

namespace troupe {
namespace {

void add(const std::vector<metric_value>& metrics, const std::string& prefix, std::vector<scalar>& to) {
  for (const metric_value& metric : metrics) {
    bool is_first = true;
    for (const metric_value::field& field : metric.fields) {
      const bool is_taken = !field.is_list && (is_first || (!field.is_count && field.name != "sum"));
      if (is_taken) {
        const std::string name = prefix + metric.name;
        to.push_back({is_first ? name : name + "/" + field.name, metric.value(field.name)});
      }
      is_first = false;
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
