#include "messages/check.hpp"
#include <troupe/instruction.hpp>

namespace troupe {
namespace {

struct spelling {
  std::string_view name;
  std::string_view letters;
};

constexpr std::array<spelling, all_instruction_kinds.size()> spellings{{
    {"LoadMicroBatch", "L"},
    {"ForwardPass", "F"},
    {"BackwardPass", "B"},
    {"SendActivation", "SA"},
    {"RecvActivation", "RA"},
    {"SendGrad", "SG"},
    {"RecvGrad", "RG"},
    {"ReduceTiedGrads", "RT"},
    {"ReduceGrads", "R"},
    {"OptimizerStep", "O"},
}};

const spelling& spelling_of(instruction_kind kind) {
  const auto index = static_cast<std::size_t>(kind);
  TROUPE_CHECK(index < spellings.size(), "an instruction is one of the ten");
  return spellings[index];
}

}  // namespace

std::string_view instruction_name(instruction_kind kind) {
  return spelling_of(kind).name;
}

std::string_view instruction_letters(instruction_kind kind) {
  return spelling_of(kind).letters;
}

}  // namespace troupe
