#include "actors/monitor.hpp"

namespace troupe {

monitor_actor::behavior_type monitor(monitor_actor::pointer, const std::shared_ptr<report_box>& box) {
  return {
      [box](const call_progress& progress) { box->put(progress); },
      [box](const log_record& record) { box->put(record); },
  };
}

}  // namespace troupe
