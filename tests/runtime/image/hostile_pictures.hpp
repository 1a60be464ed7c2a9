#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::testing {

struct hostile_picture {
  std::string name;
  std::string bytes;
  /// What the outcome has: part of an error, or "good" for a picture that is one in spite of all.
  std::string outcome;
};

/// Pictures with one thing that is a lie, or far too much.
std::vector<hostile_picture> hostile_pngs();
std::vector<hostile_picture> hostile_jpegs();

/// A picture of pictures.py.
std::string recorded_picture(const std::string& name);
/// A good PNG of 3 x 2 pixels.
std::string small_png();

}  // namespace troupe::testing
