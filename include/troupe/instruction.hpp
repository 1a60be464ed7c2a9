#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe {

/// What a stage is told to do: DeepSpeed's ten pipeline instructions, in the order the documentation lists them. A
/// trace of an evaluation has load_micro_batch, forward_pass, send_activation and recv_activation.
enum class instruction_kind : std::uint8_t {
  load_micro_batch,
  forward_pass,
  backward_pass,
  send_activation,
  recv_activation,
  send_grad,
  recv_grad,
  reduce_tied_grads,
  reduce_grads,
  optimizer_step,
};

inline constexpr std::array all_instruction_kinds{
    instruction_kind::load_micro_batch, instruction_kind::forward_pass,      instruction_kind::backward_pass,
    instruction_kind::send_activation,  instruction_kind::recv_activation,   instruction_kind::send_grad,
    instruction_kind::recv_grad,        instruction_kind::reduce_tied_grads, instruction_kind::reduce_grads,
    instruction_kind::optimizer_step,
};

/// DeepSpeed's class name: "LoadMicroBatch".
std::string_view instruction_name(instruction_kind kind);
/// As grids print it: "L".
std::string_view instruction_letters(instruction_kind kind);

/// ReduceTiedGrads, ReduceGrads and OptimizerStep work on the whole stage; every other instruction on one buffer.
constexpr bool uses_buffer(instruction_kind kind) {
  return kind < instruction_kind::reduce_tied_grads;
}

struct instruction {
  instruction_kind kind = instruction_kind::load_micro_batch;
  /// Which of the stage's num_pipe_buffers; 0 and without meaning where uses_buffer(kind) is false.
  std::uint32_t buffer = 0;

  friend bool operator==(const instruction&, const instruction&) = default;
};

}  // namespace troupe
