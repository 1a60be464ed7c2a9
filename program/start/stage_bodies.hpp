#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/workers/worker_setup.hpp"
#include "program/models/cut_model.hpp"
#include "program/start/probe_report.hpp"
#include "program/topology/stage_devices.hpp"
#include "program/topology/topology_parts.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include <troupe/topology.hpp>

namespace troupe {

/// Opens, and casts, the model of a pipeline. Errors: load_chain(), make_chain(), build_layers().
expected<layered_model_ptr> open_model(const cut_pipeline& pipeline, const std::string& name);

/// Makes what the stages of a topology compute, in the process where they do. Both arguments outlive it.
class stage_bodies {
 public:
  /// `threads`: of stages that do not say otherwise.
  stage_bodies(const topology& what, const wiring_plan& plan, std::uint32_t threads, device_layout layout)
      : what_(what), plan_(plan), threads_(threads), layout_(layout) {}

  /// The pipeline of which a node is a part; null for any other node.
  [[nodiscard]] const cut_node* part_at(stage_index node) const;
  /// A node that runs code of the user; null for any other node.
  [[nodiscard]] const stage_node* stage_at(stage_index node) const;
  [[nodiscard]] cut_request request_of(const cut_pipeline& pipeline) const;

  void add(const std::string& pipeline, cut_model cut) { cuts_.insert_or_assign(pipeline, std::move(cut)); }
  [[nodiscard]] const std::map<std::string, cut_model>& cuts() const noexcept { return cuts_; }
  /// The body of one replica. A pipeline's has been added before. E0602 for a factory that fails, E0211; E0110 for a
  /// device that this machine lacks; E0104 for graphs on the CPU.
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make(stage_address at) const;

 private:
  [[nodiscard]] expected<void> check_no_graphs(stage_index node) const;
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_on(c10::Device device, stage_address at) const;
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_function(const stage_node& stage, stage_address at,
                                                                    c10::Device device) const;
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_part(const cut_node& part, stage_address at,
                                                                c10::Device device) const;

  const topology& what_;
  const wiring_plan& plan_;
  std::uint32_t threads_;
  device_layout layout_;
  std::map<std::string, cut_model> cuts_;
};

/// What a driver needs to know of a cut, and the way back.
cut_report report_of(const cut_model& model, std::string name);
cut_places places_of(const cut_report& cut);
/// What a worker needs of a cut to become one of its parts, with so many threads.
assignment_data assignment_of(const cut_report& cut, std::uint32_t threads, std::size_t part);

}  // namespace troupe
