#include "program/start/topology_probe.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "messages/exception_text.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/start/sinks.hpp"
#include "runtime/model/output_difference.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/tensor/faithful_copy.hpp"
#include "runtime/tensor/named_payload.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/wiring/make_wiring.hpp"

namespace troupe {
namespace {

std::uint64_t bytes_of(const payload_ptr& payload) {
  std::uint64_t bytes = 0;
  if (payload == nullptr) return bytes;
  for (const at::Tensor& each : as_tensors(payload).tensors()) {
    bytes += each.numel() * each.element_size();  // also of sparse tensors
  }
  return bytes;
}

/// In an engine nothing waits for a device; here nothing else is to be done.
expected<void> await(context_event& ready, const std::string& name) {
  const auto limit = std::chrono::steady_clock::now() + limits::first_device_forward_max;
  while (std::chrono::steady_clock::now() < limit) {
    const auto passed = TROUPE_TRY(ready.has_passed());
    if (passed) return {};
    std::this_thread::sleep_for(limits::device_poll_pause);
  }
  return fail(
      error_code::device_failed, name,
      "its first micro-batch took longer than " + std::to_string(limits::first_device_forward_max.count()) + " s",
      "use smaller micro-batches, or look at what else the device does");
}

expected<void> start(stage_body& body, const std::string& name) try {
  body.on_start();
  return {};
} catch (...) {
  return fail(error_code::forward_failed, name, "it could not start: " + current_exception_text());
}

bool are_same(const activation& one, const activation& other) {
  if (one.tensors == nullptr || other.tensors == nullptr) return one.tensors == other.tensors;
  return std::ranges::equal(as_tensors(one.tensors).tensors(), as_tensors(other.tensors).tensors(), are_same_bits);
}

/// A stage may give what it keeps, and write it again.
std::vector<activation> own_copies(std::vector<activation> made) {
  for (activation& each : made) {
    each.tensors = each_tensor(
        each.tensors, [](const at::Tensor& one) { return one.is_nested() ? one.clone() : faithful_copy(one); });
  }
  return made;
}

expected<void> compute_once(stage_body& body, std::span<const activation> inputs, std::span<activation> outputs,
                            const std::string& name) try {
  TROUPE_TRY(body.run(inputs, outputs));
  const auto ready = body.outputs_ready();
  return ready ? await(*ready, name) : expected<void>{};
} catch (...) {
  return fail(error_code::forward_failed, name, "the stage threw: " + current_exception_text(),
              "check the stage with such an input, outside the pipeline");
}

expected<void> run_once(stage_body& body, std::span<const activation> inputs, std::span<activation> outputs,
                        const std::string& name) {
  return start(body, name).and_then([&] { return compute_once(body, inputs, outputs, name); });
}

}  // namespace

std::uint64_t bytes_of(const activation& part) {
  return bytes_of(part.tensors) + bytes_of(part.labels);
}

activation loaded_activation(const sample_block& block) {
  activation loaded;
  if (block.inputs.empty()) return loaded;
  loaded.samples = {0, static_cast<std::uint64_t>(block.inputs.begin()->second.size(0))};
  loaded.tensors = to_payload(block.inputs);
  if (!block.labels.empty()) loaded.labels = to_payload(block.labels);
  return loaded;
}

topology_probe::topology_probe(const checked_run& run, stage_bodies& bodies, const sample_block& first,
                               std::map<std::string, bool> journaled)
    : run_(run),
      bodies_(bodies),
      has_sample_(!first.inputs.empty()),
      journaled_plain_(std::move(journaled)),
      outputs_(run.plan.nodes.size()) {
  const activation loaded = loaded_activation(first);
  for (stage_index node = 0; node < run_.plan.nodes.size(); ++node) {
    if (run_.plan.nodes[node].kind == node_kind::source) outputs_[node] = {loaded};
  }
}

expected<void> topology_probe::run(std::uint32_t classes, const probe_note& note, const std::stop_token& stop) {
  for (stage_index node = 0; node < run_.plan.nodes.size(); ++node) {
    if (run_.plan.nodes[node].kind == node_kind::source) continue;
    if (stop.stop_requested()) return stopped_early("topology");
    TROUPE_TRY(probe_node(node, note, stop));
  }
  return run_.parts().is_open() ? expected<void>{} : judge_sinks(run_, outputs_, classes);
}

std::string topology_probe::place_of(stage_index node) const {
  const cut_node* part = run_.part_at(node);
  const std::string& name = run_.plan.nodes[node].name;
  return part == nullptr ? name : run_.parts().pipelines.at(part->pipeline).model.name_or(name);
}

expected<void> topology_probe::probe_node(stage_index node, const probe_note& note, const std::stop_token& stop) {
  const cut_node* part = run_.part_at(node);
  const bool cuts = part != nullptr && part->part == 0;
  const std::vector<activation> inputs = inputs_of(node);
  activation header = inputs.front();
  header.tensors = nullptr;
  outputs_[node].assign(run_.plan.nodes[node].outputs.size(), header);
  if (note) note(place_of(node));
  if (cuts) {
    TROUPE_TRY(cut_here(*part, inputs.front(), stop));
  }
  if (part != nullptr) {
    for (std::string& each : TROUPE_TRY(bodies_.check_trained(*part))) warnings_.push_back(std::move(each));
  }
  if (!has_sample_ || std::ranges::all_of(inputs, &activation::is_empty_part)) return {};
  return compute(node, inputs);
}

expected<void> topology_probe::compute(stage_index node, std::span<const activation> inputs) {
  auto body = TROUPE_TRY(bodies_.make({node, 0}));
  auto ran = run_once(*body, inputs, outputs_[node], run_.plan.nodes[node].name);
  const stage_node* stage = run_.stage_at(node);
  return ran && stage != nullptr && stage->options.device == "cpu" ? repeat(node, *body, inputs) : ran;
}

/// Kernels of a device may differ in the last bits between their first runs, in which they are chosen.
expected<void> topology_probe::repeat(stage_index node, stage_body& body, std::span<const activation> inputs) {
  const std::vector<activation> once = own_copies(outputs_[node]);
  std::vector<activation> again = once;
  for (activation& each : again) each.tensors = nullptr;
  outputs_[node] = once;
  TROUPE_TRY(compute_once(body, inputs, again, run_.plan.nodes[node].name));
  if (std::ranges::equal(once, again, are_same)) return {};
  const std::string cause = "it gave other bits when it got the first micro-batch a second time";
  const std::string place = "stage '" + run_.plan.nodes[node].name + "'";
  if (!run_.stage_at(node)->options.allow_random) {
    return fail(
        error_code::model_not_repeatable, place, cause,
        "let its outputs depend on its inputs alone, or set stage_options::allow_random, without the promise of "
        "equal bits");
  }
  warnings_.push_back(place + ": " + cause + ": results are not repeatable, and other runs or replays give other ones");
  return {};
}

std::vector<activation> topology_probe::inputs_of(stage_index node) const {
  std::vector<activation> inputs(run_.plan.nodes[node].inputs.size());
  for (const wired_channel& channel : run_.plan.channels) {
    if (channel.kind != channel_kind::activations) continue;
    if (run_.plan.instances[channel.consumer].address != stage_address{node, 0}) continue;
    const stage_index from = run_.plan.instances[channel.producer].address.stage;
    inputs[channel.input_port] = outputs_[from][channel.output_port];
  }
  return inputs;
}

payload_ptr topology_probe::sample_for(const cut_node& part, const activation& input) const {
  if (!has_sample_ || input.is_empty_part()) return nullptr;
  const auto dtype = run_.parts().pipelines.at(part.pipeline).options.dtype;
  return each_tensor(input.tensors, [&](const at::Tensor& one) {
    const at::Tensor here = one.cpu();  // where layers are tried and timed; the stage before may be on a device
    return dtype && here.is_floating_point() ? here.to(*dtype) : here;
  });
}

cut_request topology_probe::request_for(const cut_node& part, bool has_input) const {
  cut_request request = bodies_.request_of(run_.parts().pipelines.at(part.pipeline));
  if (const auto plain = journaled_plain_.find(part.pipeline); plain != journaled_plain_.end())
    request.journaled_plain = plain->second;
  const auto asked = parse_partition_method(request.partition);
  if (asked && may_be_measured(*asked) && has_sample_ && !has_input) request.partition = "parameters";
  return request;
}

expected<void> topology_probe::cut_here(const cut_node& part, const activation& input, const std::stop_token& stop) {
  const cut_pipeline& asked = run_.parts().pipelines.at(part.pipeline);
  auto model = TROUPE_TRY(asked.model.open(asked.options, part.pipeline));
  const payload_ptr sample = sample_for(part, input);
  const cut_request request = request_for(part, sample != nullptr);
  bodies_.add(part.pipeline, TROUPE_TRY(cut(std::move(model), request, sample, stop)));
  return {};
}

std::uint64_t topology_probe::between_bytes() const {
  std::uint64_t largest = 0;
  for (const wired_channel& channel : run_.plan.channels) {
    if (!follows_size(run_.plan, channel)) continue;
    const activation& part = outputs_[run_.plan.instances[channel.producer].address.stage][channel.output_port];
    if (part.is_empty_part() || part.tensors == nullptr) return 0;
    const std::uint64_t rows = std::max<std::uint64_t>(1, part.row_count());
    largest = std::max(largest, (bytes_of(part) * part.samples.size() + rows - 1) / rows);
  }
  return largest;
}

}  // namespace troupe
