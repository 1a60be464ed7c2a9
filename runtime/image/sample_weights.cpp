#include "runtime/image/sample_weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "messages/check.hpp"

namespace troupe {
namespace {

double box_at(double x) {
  return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

double triangle_at(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

/// Keys' cubic with a = -1/2.
double cubic_at(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  return x < 2.0 ? (((x - 5.0) * x + 8.0) * x - 4.0) * a : 0.0;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos_at(double x) {
  return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
}

struct filter_kind {
  std::string_view name;
  double (*at)(double x);
  /// Beyond this distance it is 0.
  double reach;
};

constexpr std::array<filter_kind, 4> filter_kinds{{{"box", &box_at, 0.5},
                                                   {"bilinear", &triangle_at, 1.0},
                                                   {"bicubic", &cubic_at, 2.0},
                                                   {"lanczos", &lanczos_at, 3.0}}};

const filter_kind& kind_of(picture_filter filter) {
  return filter_kinds[static_cast<std::size_t>(filter)];
}

/// Half away from zero.
std::int32_t fixed_point(double weight) {
  const double scaled = weight * (1 << weight_bits);
  return static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

sample_weights unchanged(std::uint64_t begin, std::uint32_t count) {
  sample_weights made;
  made.weights.resize(count * made.most);
  for (std::uint32_t i = 0; i < count; ++i) {
    made.ranges.push_back({static_cast<std::uint32_t>(begin + i), 1});
    made.weights[i * made.most] = 1 << weight_bits;
  }
  return made;
}

}  // namespace

std::string_view name_of(picture_filter filter) {
  return kind_of(filter).name;
}

sample_weights weights_of(picture_filter filter, std::uint32_t from, std::uint64_t to, std::uint64_t begin,
                          std::uint32_t count) {
  TROUPE_CHECK(from >= 1 && begin + count <= to, "only pixels of the new side are computed");
  if (from == to) return unchanged(begin, count);
  const filter_kind& kind = kind_of(filter);
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0);
  const double reach = kind.reach * stretch;
  sample_weights made;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(begin + i) + 0.5) * scale;
    const auto first = static_cast<std::uint32_t>(std::max(centre - reach + 0.5, 0.0));
    const auto end = static_cast<std::uint32_t>(std::min(centre + reach + 0.5, static_cast<double>(from)));
    made.ranges.push_back({first, end - first});
    made.most = std::max(made.most, (std::size_t{end} - first + 1) / 2 * 2);
  }
  made.weights.resize(count * made.most);
  std::vector<double> exact(made.most);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto [first, used] = made.ranges[i];
    const double centre = (static_cast<double>(begin + i) + 0.5) * scale;
    double sum = 0.0;
    for (std::uint32_t k = 0; k < used; ++k) {
      exact[k] = kind.at((static_cast<double>(k + first) - centre + 0.5) * (1.0 / stretch));
      sum += exact[k];
    }
    for (std::uint32_t k = 0; k < used; ++k) {
      made.weights[i * made.most + k] = fixed_point(sum == 0.0 ? exact[k] : exact[k] / sum);
    }
  }
  return made;
}

}  // namespace troupe
