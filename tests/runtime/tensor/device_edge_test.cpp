// Goal: finished tensors on one of LibTorch's devices go over an edge of shared device memory and arrive on the device
// with their bits, and no host waits for LibTorch's device on their way. Method: LibTorch's late device at both ends,
// in one process; a late stand-in copies and shares its memory; the edge's slots are used again.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "../edge/tcp/tcp_test_support.hpp"
#include "runtime/edge/cuda_ipc/ipc_transport.hpp"
#include "runtime/tensor/device_tensor_codec.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "testing/late_torch/late_torch.hpp"
#include "testing/nccl/late_device.hpp"

namespace troupe::testing {
namespace {

std::shared_ptr<ipc_transport> side_of(const std::shared_ptr<late_device>& device) {
  ipc_tools tools{.device = device,
                  .sharing = std::move(*device->sharing()),
                  .codec = std::make_shared<const device_tensor_codec>(late::late_device()),
                  .readers = std::move(*device->make_stream())};
  const auto shared = std::make_shared<const ipc_tools>(std::move(tools));
  return ipc_transport::open([shared] { return shared; }, std::make_shared<tensor_codec>());
}

TEST(device_edge, carries_tensors_of_the_device_and_labels_of_the_host) {
  late::register_late_torch();
  const auto here = side_of(std::make_shared<late_device>());
  const auto there = side_of(std::make_shared<late_device>());
  doorbell producer_bell;
  doorbell consumer_bell;
  error_box failures;
  const edge_options shape{.slots = 2, .producer_bell = &producer_bell, .consumer_bell = &consumer_bell};
  const edge_offer offer = std::move(*here->offer(shape, edge_reach::devices));
  const auto site = [&](doorbell& peer) {
    return edge_site{.epoch = 1,
                     .channel = 0,
                     .shape = shape,
                     .offer = offer,
                     .peer_bell = std::shared_ptr<doorbell>(std::shared_ptr<void>(), &peer),
                     .on_lost = failures.put(),
                     .on_damaged = failures.put()};
  };
  const auto consumer = std::move(*there->open_consumer(site(producer_bell)));
  const auto producer = std::move(*here->open_producer(site(consumer_bell)));
  for (std::uint64_t index = 0; index < 20; ++index) {
    const at::Tensor image = at::randn({2, 3, 4, 1 + static_cast<std::int64_t>(index)});
    const at::Tensor sent = image.to(at::MemoryFormat::ChannelsLast).to(late::late_device());
    const at::Tensor labels = at::arange(2);
    activation message{{0, index}, {2 * index, 2 * index + 2}, make_tensors(sent), make_tensors(labels)};
    ASSERT_TRUE(eventually([&] { return producer->has_credit(); }));
    const auto waits = late::counts().synchronizations;
    ASSERT_EQ(producer->try_send(message), send_status::sent);
    std::optional<activation> got;
    ASSERT_TRUE(eventually([&] { return (got = consumer->try_receive()).has_value(); }));
    EXPECT_EQ(late::counts().synchronizations, waits) << "no host waits for the device";
    const at::Tensor& arrived = as_tensors(got->tensors).single();
    EXPECT_EQ(arrived.device(), late::late_device());
    EXPECT_EQ(arrived.strides(), sent.strides());
    EXPECT_TRUE(at::equal(arrived.cpu(), image));
    EXPECT_TRUE(at::equal(as_tensors(got->labels).single(), labels));
    got.reset();
    consumer->release();
  }
  EXPECT_EQ(failures.count(), 0u);
}

}  // namespace
}  // namespace troupe::testing
