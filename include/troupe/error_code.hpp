#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// The documented exit statuses of every program of Troupe (docs/errors.md).
enum class exit_status : int {
  ok = 0,
  failure = 1,
  usage = 2,
  bad_input = 3,
  work_lost = 4,
  deadline = 124,
  interrupted = 130,
};

/// Stable numbers: a code never changes its meaning and is never used again. The hundreds group them: 1xx usage,
/// 2xx model, 3xx data, 4xx config, 5xx topology and partition, 6xx run, 7xx wire, 8xx journal, 9xx device. Never 0.
///
/// A new code needs an entry in messages/explanations (input.hpp up to 4xx, operation.hpp above) and a row in
/// docs/errors.md. tests/messages/error_code_test.cpp compares the three, and has the exit statuses of each hundred.
enum class error_code : std::uint16_t {
  unknown_flag = 101,
  unknown_name = 102,
  value_out_of_range = 103,
  flags_contradict = 104,
  missing_flag = 105,
  more_stages_than_layers = 106,
  unknown_code = 107,
  metric_does_not_fit = 108,
  fault_invalid = 109,
  device_unavailable = 110,

  model_missing = 201,
  model_is_directory = 202,
  model_truncated = 203,
  model_state_dict = 204,
  model_legacy_pickle = 205,
  model_lfs_pointer = 206,
  model_not_torchscript = 207,
  model_not_usable = 208,
  model_rejects_sample = 209,
  model_unreadable = 210,
  model_has_effects = 212,
  model_damaged = 213,
  model_beyond_limits = 214,
  model_crashed = 215,
  model_not_repeatable = 216,
  model_unsupported = 217,
  weights_do_not_fit = 218,
  architecture_unknown = 219,

  data_missing = 301,
  data_truncated = 302,
  data_bad_format = 303,
  data_mismatch = 304,
  data_label_out_of_range = 305,
  data_empty = 306,
  data_unreadable = 307,
  tokenizer_unusable = 308,

  config_missing = 401,
  config_syntax = 402,
  config_unknown_key = 403,
  config_bad_value = 404,

  topology_cycle = 501,
  topology_dangling_port = 502,
  topology_duplicate_name = 503,
  topology_invalid = 504,
  topology_join_starves = 505,
  topology_route_incomplete = 506,
  partition_no_match = 511,
  partition_bad_boundaries = 512,
  partition_bad_weights = 513,

  internal = 601,
  forward_failed = 602,
  metric_failed = 603,
  source_failed = 604,
  deadline_passed = 605,
  interrupted = 606,
  call_cancelled = 607,
  engine_stopped = 608,
  stage_unresponsive = 609,
  work_lost = 610,
  output_unwritable = 611,
  data_exhausted = 612,
  queue_full = 613,
  process_failed = 614,
  stage_lost = 615,
  restarts_spent = 616,
  worker_mismatch = 617,
  node_lost = 618,
  gradient_not_finite = 619,
  training_state_lost = 620,
  replicas_differ = 621,

  wire_too_large = 701,
  wire_malformed = 702,
  wire_wrong_version = 703,
  wire_too_deep = 704,
  wire_unknown_kind = 705,
  wire_checksum = 706,
  wire_handshake = 707,
  peer_lost = 708,

  journal_mismatch = 801,
  journal_damaged = 802,
  journal_unwritable = 803,
  journal_missing = 804,

  library_unusable = 901,
  device_failed = 902,
};

/// What `troupe explain` prints of a code: one entry per enumerator, in numeric order.
struct error_explanation {
  error_code code;
  exit_status status;
  std::string_view title;
  std::string_view explanation;
};

/// A constant of the program.
std::span<const error_explanation> all_error_explanations();
/// `code` must be an enumerator: any other number stops the process.
const error_explanation& explain(error_code code);

/// "E0203".
std::string code_name(error_code code);
/// Reads an optional E or e and a decimal number, with or without leading zeros: "E0203", "e203", "203". Any other text
/// gives nothing, as does the number of no code.
std::optional<error_code> parse_code(std::string_view text);

/// `code` must be an enumerator, as for explain().
inline exit_status status_of(error_code code) {
  return explain(code).status;
}

}  // namespace troupe
