#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/architecture/families.hpp"
#include "runtime/architecture/modules.hpp"

namespace troupe {
namespace {

/// Table 1 of Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition"
/// (arXiv:1409.1556): convolutions of 64, 128, 256, 512 and 512 channels, with a pooling behind each group. The names
/// are those of torchvision.models.vgg.
void write_vgg(network& net, const std::vector<std::int64_t>& group_sizes, bool has_norms) {
  constexpr std::int64_t side = 7;
  constexpr std::int64_t inner = 4096;
  tensor_value x = net.input("x");
  std::int64_t channels = 3;
  {
    const auto here = net.enter("features", "Sequential");
    std::int64_t out = 64;
    int part = 0;
    for (const std::int64_t count : group_sizes) {
      for (std::int64_t i = 0; i < count; ++i) {
        x = conv2d(net, std::to_string(part++), x,
                   {.in = channels, .out = out, .kernel = 3, .padding = 1, .has_bias = true});
        if (has_norms) x = batch_norm2d(net, std::to_string(part++), x, out);
        x = net.call("relu", {x});
        ++part;
        channels = out;
      }
      x = net.call("max_pool2d", {x, std::vector<std::int64_t>{2, 2}});
      ++part;
      if (out < 512) out *= 2;
    }
  }
  x = net.call("flatten", {net.call("adaptive_avg_pool2d", {x, std::vector<std::int64_t>{side, side}}), 1});
  const std::int64_t classes = classes_of(net, "classifier.6");
  const auto here = net.enter("classifier", "Sequential");
  x = net.call("relu", {linear(net, "0", x, channels * side * side, inner)});
  x = net.call("relu", {linear(net, "3", x, inner, inner)});
  net.output("", linear(net, "6", x, inner, classes));
}

}  // namespace

void add_vggs(std::map<std::string, named_builder>& to) {
  const std::map<std::string, std::vector<std::int64_t>> groups{
      {"vgg11", {1, 1, 2, 2, 2}}, {"vgg13", {2, 2, 2, 2, 2}}, {"vgg16", {2, 2, 3, 3, 3}}, {"vgg19", {2, 2, 4, 4, 4}}};
  for (const auto& each : groups) {
    to.emplace(each.first, [sizes = each.second](network& net) { write_vgg(net, sizes, false); });
    to.emplace(each.first + "_bn", [sizes = each.second](network& net) { write_vgg(net, sizes, true); });
  }
}

}  // namespace troupe
