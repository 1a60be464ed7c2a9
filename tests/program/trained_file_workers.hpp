#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <troupe/training_engine.hpp>

namespace troupe::testing {

/// What the workers of a test build: the file of a model, if there is one, and replicas.
inline constexpr const char* model_variable = "TROUPE_TEST_MODEL";
inline constexpr const char* replicas_variable = "TROUPE_TEST_REPLICAS";

/// An engine of two stages for the file of a model.
expected<std::unique_ptr<training_engine>> make_file_engine(const std::string& model, bool in_workers,
                                                            std::uint32_t replicas, fault_plan faults = {},
                                                            const std::string& log = {});

}  // namespace troupe::testing
