#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "messages/training.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

/// What a driver and its worker processes say to each other beside what a stage and its run do (lifecycle.hpp). They
/// travel over the control plane as the bytes of messages/codec; descriptors that they speak of come over the worker's
/// fd_channel, sent before the message.
namespace troupe {

/// Where the edges of one process to others are found.
struct edge_contact {
  /// The name in the certificate of its process (runtime/join/peer_name.hpp); empty: the driver's, or a run without
  /// certificates.
  std::string node;
  /// Numeric; empty: this host.
  std::string address;
  /// transport::contact().
  std::uint64_t number = 0;

  friend bool operator==(const edge_contact&, const edge_contact&) = default;
};

/// worker -> driver, first of all. No reply but an assignment, sooner or later. The link that it comes over tells which
/// of the driver's workers this is.
struct worker_hello {
  std::uint32_t pid = 0;
  /// transport::contact() of its edges to other processes.
  std::uint64_t edge_contact = 0;
};

/// A fault of the run that this worker injects into itself.
struct assigned_fault {
  /// Its position in the plan.
  std::uint32_t number = 0;
  /// As parse_fault() reads it.
  std::string text;

  friend bool operator==(const assigned_fault&, const assigned_fault&) = default;
};

/// driver -> worker, once: become this stage. Reply: stage_ready, or failure. The worker has its page from its host;
/// the loader's page and the warm-up input come before this, as far as it speaks of them.
struct worker_assignment {
  stage_address address;
  incarnation_number incarnation = 0;
  /// Hash of the run's description: a worker that was told another topology refuses (E0617).
  std::uint64_t fingerprint = 0;
  /// Slots of the loader's edges, and of those between stages, where they are more than the buffers of the consumer.
  std::uint32_t prefetch_slots = 1;
  std::uint32_t stage_slots = 1;
  /// Intra-op threads, as the driver resolved them.
  std::uint32_t threads = 1;
  /// Where the pipeline that the stage is a part of was cut; empty for any other stage.
  std::vector<std::uint64_t> boundaries;
  /// 1: the model runs as it stands, whatever its options ask for. Else 0.
  std::uint32_t runs_plain = 0;
  /// Names of the inputs that the data give the model, by which its optional arguments are bound.
  std::vector<std::string> inputs = {};
  /// 1: the loader's page comes before this. 0: the driver is on another node, and does not share memory.
  std::uint32_t loader_pages = 1;
  /// Bytes of the input that the stage warms up with, in tensor_codec's form; 0: there is none.
  std::uint64_t warm_up_bytes = 0;
  /// The memory of its weights comes before this, in which an incarnation before may have left them. Only where the run
  /// trains.
  bool has_state = false;
  /// Ascending: pairs of stages that share weights, wherever they are. Their channels stand behind those of the plan.
  std::vector<tied_stages> ties = {};
  /// Those of the stage, of its worker and of its edges that the run has not spent.
  std::vector<assigned_fault> faults;
};

/// driver -> worker, once, if it injects faults at times of the run: the first micro-batch was sent so long ago. No
/// reply.
struct run_begun {
  std::uint64_t age_ns = 0;
};

/// What one end of an edge to another process must know (edge_offer).
struct offered_edge {
  /// Position in wiring_plan::channels.
  std::uint64_t channel = 0;
  /// How many blobs came before the message: 2, the edge's memory and the page of the engine at the other end, or 0.
  std::uint32_t blobs = 0;
  std::vector<std::uint64_t> words;
};

/// driver -> worker: a new epoch. Everything held is dropped, the edges that follow from the plan and from who is
/// present are opened, and micro-batches come from `from` on. Both ends compute the same edges from it.
struct wiring_order {
  epoch_number epoch = 0;
  micro_batch_id from;
  /// Positions in wiring_plan::instances, ascending, the loader's among them.
  std::vector<std::uint64_t> present;
  /// By position in `present`: of that instance's process.
  std::vector<edge_contact> edge_contacts;
  /// Offers for the edges of this worker, in order of their channels.
  std::vector<offered_edge> offers;
};

/// owner of an edge's end -> director: an edge of this epoch is silent, perhaps without a death. No reply. The director
/// makes new edges, unless it already has.
struct edge_lost {
  epoch_number epoch = 0;
  error cause;
};

/// worker -> driver: from the other end of this edge came what cannot be. No reply. The worker at that end is killed,
/// and new edges come with its successor.
struct edge_damaged {
  epoch_number epoch = 0;
  /// Position in wiring_plan::channels.
  std::uint64_t channel = 0;
  error cause;
};

/// Either way between a driver and a worker process: the message in it, and what has come of the other way
/// (runtime/link/numbered_link.hpp). No reply; a repetition has no effect.
struct numbered_message {
  /// From 1 on, each way; 0: nothing is in it.
  std::uint64_t number = 0;
  /// All up to this number have come.
  std::uint64_t heard = 0;
  std::vector<std::byte> message;
};

/// stage -> director: knows the call (the acknowledgement of open_call between processes).
struct call_opened {
  call_number call = 0;
};

}  // namespace troupe
