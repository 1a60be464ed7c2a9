#pragma once

#include <string>

#include <troupe/troupe.hpp>

namespace examples {

/// What `troupe eval --stages S --replicas R` runs, said in code. Without edge() each node follows the one before.
inline troupe::topology chain(const std::string& data_dir, troupe::cut_options cut = {.stages = 2}) {
  return troupe::topology{}
      .source("loader", "mnist:" + data_dir + "/mnist")
      .pipeline("lenet", data_dir + "/mnist/lenet.pt", cut)
      .sink("metrics", {"accuracy", "nll"});
}

}  // namespace examples
