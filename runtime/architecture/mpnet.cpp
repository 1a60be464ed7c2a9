#include "runtime/architecture/mpnet.hpp"

#include <cmath>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/log.h>
#include <ATen/ops/where.h>

namespace troupe {
namespace {

/// Distances from here on are in the last bucket.
constexpr std::int64_t far = 128;
constexpr std::int64_t buckets_each_way = 16;
/// Distances below this have a bucket each.
constexpr std::int64_t exact = 8;

/// The bucket of each distance from -128 to 128, of a key behind the query, computed as transformers does.
at::Tensor bucket_of_distance() {
  const at::Tensor distance = at::arange(-far, far + 1);
  const at::Tensor size = distance.abs();
  const at::Tensor share = at::log(size.to(at::kFloat) / exact) / std::log(static_cast<double>(far) / exact);
  const at::Tensor by_log =
      (exact + (share * (buckets_each_way - exact)).to(at::kLong)).clamp_max(buckets_each_way - 1);
  return (distance > 0).to(at::kLong) * buckets_each_way + at::where(size < exact, size, by_log);
}

}  // namespace

tensor_value mpnet_distances(network& net, std::int64_t buckets, std::int64_t heads) {
  const auto here = net.enter("relative_attention_bias", "Embedding");
  return net.parameter("weight", {buckets, heads});
}

tensor_value mpnet_scores(network& net, tensor_value x, tensor_value distances) {
  const std::vector<torch::jit::NamedValue> kind{{"dtype", static_cast<std::int64_t>(c10::kLong)},
                                                 {"device", c10::Device(c10::kCPU)}};
  tensor_value const places = net.call("arange", {net.call("size", {x, 1})}, kind);
  tensor_value const apart = net.call("sub", {net.call("unsqueeze", {places, 0}), net.call("unsqueeze", {places, 1})});
  tensor_value const index = net.call("add", {net.call("clamp", {apart, -far, far}), far});
  tensor_value const by_distance = net.call("embedding", {distances, net.constant(bucket_of_distance())});
  tensor_value const scores = net.call("embedding", {by_distance, index});
  return net.call("unsqueeze", {net.call("permute", {scores, std::vector<std::int64_t>{2, 0, 1}}), 0});
}

}  // namespace troupe
