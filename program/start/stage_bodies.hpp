#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/workers/worker_setup.hpp"
#include "program/models/cut_model.hpp"
#include "program/start/probe_report.hpp"
#include "program/topology/checked_run.hpp"
#include "runtime/flow/engine_body.hpp"
#include "runtime/os/shared_memory.hpp"
#include "runtime/training/trained_part.hpp"

namespace troupe {

/// Makes what the stages of a run compute, in the process where they do. The run outlives it.
class stage_bodies {
 public:
  /// `threads`: of stages that do not say otherwise.
  stage_bodies(const checked_run& run, std::uint32_t threads) : run_(run), threads_(threads) {}

  [[nodiscard]] cut_request request_of(const cut_pipeline& pipeline) const;

  void add(const std::string& pipeline, cut_model cut) { cuts_.insert_or_assign(pipeline, std::move(cut)); }
  [[nodiscard]] const std::map<std::string, cut_model>& cuts() const noexcept { return cuts_; }
  /// Parts of a pipeline that share weights; none where the run does not train.
  [[nodiscard]] std::vector<tied_stages> ties_of(const std::string& pipeline) const;
  /// The body of one replica. A pipeline's has been added before. E0602 for a factory that fails; E0110 for a
  /// device that this machine lacks; E0104 for graphs on the CPU.
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make(stage_address at) const;
  /// What the engine of the replica computes: make(), or a body that trains. `state`: memory for its weights that other
  /// processes have, too, in which a body before may have left them; null: of its own. `protects`: it is read-only
  /// while layers compute. E0614, E0620; those of check_trained().
  [[nodiscard]] expected<engine_body> make_for_engine(stage_address at,
                                                      const std::shared_ptr<shared_memory>& state = nullptr,
                                                      bool protects = true) const;
  /// Whether the part of a pipeline from a file can be trained, if it is to be; with what the user should know, which
  /// the first part tells. E0504, E0217.
  [[nodiscard]] expected<std::vector<std::string>> check_trained(const cut_node& part) const;

 private:
  [[nodiscard]] expected<std::unique_ptr<trained_part>> make_trained(const cut_node& part) const;
  [[nodiscard]] expected<std::shared_ptr<training_body>> make_trained(const cut_node& part, stage_address at,
                                                                      const std::shared_ptr<shared_memory>& state,
                                                                      bool protects) const;
  [[nodiscard]] expected<void> check_no_graphs(stage_index node) const;
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_on(c10::Device device, stage_address at) const;
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_function(const stage_node& stage, stage_address at,
                                                                    c10::Device device) const;
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_part(const cut_node& part, stage_address at,
                                                                c10::Device device) const;

  const checked_run& run_;
  std::uint32_t threads_;
  std::map<std::string, cut_model> cuts_;
};

/// What a driver needs to know of a cut, and the way back.
cut_report report_of(const cut_model& model, std::string name);
cut_places places_of(const cut_report& cut);
/// What a worker needs of a cut to become one of its parts, with so many threads.
assignment_data assignment_of(const cut_report& cut, std::uint32_t threads, std::size_t part);

}  // namespace troupe
