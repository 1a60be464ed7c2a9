#pragma once

#include <string>

namespace troupe {

/// What one process of a run shows and trusts: PEM texts, as they come over a pipe and never from a file. The authority
/// is made for the run: every holder of its certificates belongs to the run, and the name in a certificate says which
/// of its nodes the holder is.
struct tls_credentials {
  std::string certificate;
  std::string key;
  std::string ca;
};

}  // namespace troupe
