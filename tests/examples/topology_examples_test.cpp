// Goal: every example topology gives the numbers of a plain program, whatever the micro-batch size, the credits and the
// replicas. Method: a single-threaded loop per example, written out here; counts are equal, sums to the last bit where
// both run the same kernels on the same micro-batches, and to 1e-6 where the plain program computes in double.
#include <gmock/gmock.h>

#include "examples/cascade/topology.hpp"
#include "examples/chain/topology.hpp"
#include "examples/crops/topology.hpp"
#include "examples/ensemble/topology.hpp"
#include "examples/many_nodes/topology.hpp"
#include "examples/own_parts/topology.hpp"
#include "examples/replicas/topology.hpp"
#include "plain_programs.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

struct layout {
  std::uint64_t micro_batch;
  std::uint64_t samples;
  std::uint32_t num_pipe_buffers;
  std::uint32_t replicas;
};

class topologies : public ::testing::TestWithParam<layout> {
 protected:
  std::string dir_ = data_dir().string();
  data_set_ptr data_ = open_data("mnist:" + dir_ + "/mnist").value();
  layout layout_ = GetParam();

  [[nodiscard]] stage_options each() const {
    return {.replicas = layout_.replicas, .num_pipe_buffers = layout_.num_pipe_buffers};
  }
  [[nodiscard]] run_result run_it(const topology& what) const {
    auto result = run(what, {.micro_batch = layout_.micro_batch, .threads = 1, .limit = layout_.samples});
    EXPECT_TRUE(result) << to_string(result.error());
    if (!result) return {};
    EXPECT_EQ(result->samples, layout_.samples);
    EXPECT_EQ(result->delivery.lost, 0u);
    EXPECT_EQ(result->delivery.folded, (layout_.samples + layout_.micro_batch - 1) / layout_.micro_batch);
    return std::move(*result);
  }
  void for_each(const std::function<void(const at::Tensor&, const at::Tensor&)>& body) const {
    for_each_micro_batch(*data_, layout_.micro_batch, layout_.samples, body);
  }
};

const metric_value::field& field_of(const std::vector<metric_value>& metrics, const std::string& metric,
                                    const std::string& field) {
  for (const metric_value& each : metrics) {
    if (each.name != metric) continue;
    for (const auto& one : each.fields) {
      if (one.name == field) return one;
    }
  }
  throw std::runtime_error("no " + metric + "." + field);
}

void expect_equal(const std::vector<metric_value>& found, const plain_counts& wanted, double tolerance = 0) {
  EXPECT_EQ(field_of(found, "accuracy", "correct").counts.at(0), wanted.correct);
  EXPECT_EQ(field_of(found, "accuracy", "total").counts.at(0), wanted.samples);
  EXPECT_NEAR(field_of(found, "nll", "sum").reals.at(0), wanted.nll_sum, tolerance * wanted.nll_sum);
}

TEST_P(topologies, chain) {
  plain_counts plain;
  auto lenet = lenet_alone(dir_);
  for_each([&](const at::Tensor& images, const at::Tensor& labels) { plain.add(lenet(images), labels); });
  for (const std::uint32_t stages : {1u, 3u, 15u}) {
    const auto result = run_it(examples::chain(dir_, {.stages = stages,
                                                      .replicas = layout_.replicas,
                                                      .optimize = optimize_mode::none,
                                                      .num_pipe_buffers = layout_.num_pipe_buffers}));
    expect_equal(result.metrics, plain);
  }
}

TEST_P(topologies, chain_in_bfloat16) {
  plain_counts plain;
  torch::jit::Module model = torch::jit::load(dir_ + "/mnist/lenet.pt");
  model.eval();
  model.to(at::kBFloat16);
  for_each([&](const at::Tensor& images, const at::Tensor& labels) {
    plain.add(model.forward({images.to(at::kBFloat16)}).toTensor().to(at::kFloat), labels);
  });
  const auto result = run_it(examples::chain(dir_, {.stages = 2,
                                                    .replicas = layout_.replicas,
                                                    .optimize = optimize_mode::none,
                                                    .num_pipe_buffers = layout_.num_pipe_buffers,
                                                    .dtype = at::kBFloat16}));
  expect_equal(result.metrics, plain);
}

TEST_P(topologies, ensemble) {
  plain_counts plain;
  plain_counts alone;
  auto lenet = lenet_alone(dir_);
  const means_alone means(*data_, examples::ensemble_fit_samples);
  for_each([&](const at::Tensor& images, const at::Tensor& labels) {
    const at::Tensor small = means(images);
    alone.add(small, labels);
    plain.add(at::log(at::div(at::add(at::exp(lenet(images)), at::exp(small)), 2)), labels);
  });
  const auto result = run_it(examples::ensemble(dir_, each()));
  expect_equal(result.metrics, plain, 1e-5);
  EXPECT_EQ(field_of(result.sinks.at(1).metrics, "accuracy", "correct").counts.at(0), alone.correct);
}

TEST_P(topologies, cascade) {
  plain_counts all;
  plain_counts early;
  plain_counts late;
  auto lenet = lenet_alone(dir_);
  const means_alone means(*data_, examples::cascade_fit_samples);
  for_each([&](const at::Tensor& images, const at::Tensor& labels) {
    const at::Tensor small = means(images);
    std::vector<at::Tensor> unsure;
    std::vector<at::Tensor> unsure_labels;
    for (std::int64_t row = 0; row < images.size(0); ++row) {
      const at::Tensor label = labels.narrow(0, row, 1);
      if (std::exp(small[row].max().item<double>()) >= examples::cascade_sure_from) {
        early.add(small.narrow(0, row, 1), label);
      } else {
        unsure.push_back(images.narrow(0, row, 1));
        unsure_labels.push_back(label);
      }
    }
    if (!unsure.empty()) late.add(lenet(at::cat(unsure)), at::cat(unsure_labels));
  });
  all.samples = early.samples + late.samples;
  all.correct = early.correct + late.correct;
  all.nll_sum = early.nll_sum + late.nll_sum;
  const auto result = run_it(examples::cascade(dir_, examples::cascade_sure_from, each()));
  expect_equal(result.metrics, all, 1e-5);
  ASSERT_GT(early.samples, 0u);
  ASSERT_GT(late.samples, 0u);
  EXPECT_EQ(result.sinks.at(1).samples, early.samples);
  EXPECT_EQ(result.sinks.at(2).samples, late.samples);
  EXPECT_EQ(field_of(result.sinks.at(1).metrics, "accuracy", "correct").counts.at(0), early.correct);
  EXPECT_EQ(field_of(result.sinks.at(2).metrics, "accuracy", "correct").counts.at(0), late.correct);
}

TEST_P(topologies, cascade_with_an_empty_side) {
  for (const double sure_from : {0.0, 2.0}) {
    const auto result = run_it(examples::cascade(dir_, sure_from, each()));
    EXPECT_EQ(result.sinks.at(1).samples, sure_from == 0.0 ? layout_.samples : 0u);
    EXPECT_EQ(result.sinks.at(2).samples, sure_from == 0.0 ? 0u : layout_.samples);
    EXPECT_EQ(field_of(result.metrics, "accuracy", "total").counts.at(0), layout_.samples);
  }
}

TEST_P(topologies, crops) {
  plain_counts plain;
  auto lenet = lenet_alone(dir_);
  for_each([&](const at::Tensor& images, const at::Tensor& labels) {
    const at::Tensor wide = at::zeros({images.size(0), 1, images.size(2) + 2, images.size(3) + 2});
    wide.narrow(2, 1, images.size(2)).narrow(3, 1, images.size(3)).copy_(images);
    std::vector<at::Tensor> four;
    for (std::int64_t row = 0; row < images.size(0); ++row) {
      for (const auto& [top, left] : {std::pair{1, 0}, {1, 2}, {0, 1}, {2, 1}}) {
        four.push_back(wide[row].narrow(1, top, images.size(2)).narrow(2, left, images.size(3)));
      }
    }
    const at::Tensor scores = at::exp(lenet(at::stack(four)));
    plain.add(at::log(at::mean(at::reshape(scores, {-1, 4, scores.size(1)}), {1})), labels);
  });
  expect_equal(run_it(examples::crops(dir_, each())).metrics, plain);
}

TEST_P(topologies, replicas) {
  plain_counts plain;
  auto lenet = lenet_alone(dir_);
  for_each([&](const at::Tensor& images, const at::Tensor& labels) {
    const at::Tensor filtered = at::zeros_like(images);
    const auto source = images.accessor<float, 4>();
    auto target = filtered.accessor<float, 4>();
    for (std::int64_t n = 0; n < images.size(0); ++n) {
      for (std::int64_t y = 0; y < images.size(2); ++y) {
        for (std::int64_t x = 0; x < images.size(3); ++x) {
          std::vector<float> near;
          for (std::int64_t dy = -1; dy <= 1; ++dy) {
            for (std::int64_t dx = -1; dx <= 1; ++dx) {
              const bool inside = y + dy >= 0 && y + dy < images.size(2) && x + dx >= 0 && x + dx < images.size(3);
              near.push_back(inside ? source[n][0][y + dy][x + dx] : 0.0f);
            }
          }
          std::ranges::sort(near);
          target[n][0][y][x] = near[4];
        }
      }
    }
    plain.add(lenet(filtered), labels);
  });
  expect_equal(
      run_it(examples::replicas(dir_, layout_.replicas + 1, {.num_pipe_buffers = layout_.num_pipe_buffers})).metrics,
      plain);
}

TEST_P(topologies, many_nodes) {
  plain_counts plain;
  std::uint64_t thin = 0;
  auto lenet = lenet_alone(dir_);
  for_each([&](const at::Tensor& images, const at::Tensor& labels) {
    at::Tensor drawn = images.clone();
    const auto source = images.accessor<float, 4>();
    auto target = drawn.accessor<float, 4>();
    const std::int64_t height = images.size(2);
    const std::int64_t width = images.size(3);
    for (std::int64_t n = 0; n < images.size(0); ++n) {
      double ink = 0;
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) ink += static_cast<double>(source[n][0][y][x]);
      }
      if (ink / static_cast<double>(height * width) >= examples::thin_below) continue;
      ++thin;
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
          for (const auto& [down, right] : {std::pair{0, 1}, {1, 0}, {1, 1}}) {
            if (y + down >= height || x + right >= width) continue;
            target[n][0][y][x] = std::max(target[n][0][y][x], source[n][0][y + down][x + right]);
          }
        }
      }
    }
    plain.add(lenet(drawn), labels);
  });
  const auto result = run_it(examples::many_nodes(dir_, each()));
  expect_equal(result.metrics, plain);
  ASSERT_GT(thin, 0u);
  EXPECT_EQ(result.sinks.at(1).samples, thin);
}

TEST_P(topologies, own_parts) {
  plain_counts plain;
  double confidence = 0;
  auto lenet = lenet_alone(dir_);
  for_each([&](const at::Tensor& images, const at::Tensor& labels) {
    at::Tensor turned = at::empty_like(images);
    for (std::int64_t y = 0; y < images.size(2); ++y) {
      turned.select(2, y).copy_(images.select(2, images.size(2) - 1 - y));
    }
    const at::Tensor scores = lenet(turned).contiguous();
    plain.add(scores, labels);
    double sum = 0;
    for (std::int64_t row = 0; row < scores.size(0); ++row) sum += std::exp(scores[row].max().item<double>());
    confidence += sum;
  });
  const auto result = run_it(examples::own_parts(dir_, each()));
  EXPECT_EQ(field_of(result.metrics, "accuracy", "correct").counts.at(0), plain.correct);
  EXPECT_EQ(field_of(result.metrics, "mean_confidence", "count").counts.at(0), layout_.samples);
  EXPECT_EQ(field_of(result.metrics, "mean_confidence", "mean").reals.at(0),
            confidence / static_cast<double>(layout_.samples));
}

const std::vector<layout> layouts = {
    {1, 60, 1, 1}, {7, 500, 2, 2}, {64, 1000, 1, 3}, {64, 1000, 3, 1}, {600, 1000, 2, 1}};

INSTANTIATE_TEST_SUITE_P(layouts, topologies, ::testing::ValuesIn(fewer_if_sanitized(layouts, {2})),
                         [](const auto& one) {
                           const layout& l = one.param;
                           return "micro_batch_" + std::to_string(l.micro_batch) + "_buffers_" +
                                  std::to_string(l.num_pipe_buffers) + "_replicas_" + std::to_string(l.replicas);
                         });

}  // namespace
}  // namespace troupe::testing
