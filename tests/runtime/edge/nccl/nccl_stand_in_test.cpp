// Goal: the stand-in finds what NCCL leaves undefined: ends that do not match, and crossed order. Method: both ranks of
// a communicator in this process, with calls by hand.
#include <array>

#include "nccl_test_support.hpp"

namespace troupe::testing {
namespace {

using nccl::element;

/// One rank.
class one_rank {
 public:
  one_rank(const nccl::unique_id& id, int rank) : rank_(rank) {
    nccl::config how;
    how.blocking = 0;
    EXPECT_EQ(library_.comm_init_rank_config(&handle_, 2, id, rank, &how), nccl::result::in_progress);
  }
  one_rank(const one_rank&) = delete;
  one_rank& operator=(const one_rank&) = delete;
  ~one_rank() { EXPECT_EQ(library_.comm_abort(handle_), nccl::result::success); }

  void send(std::uint64_t count, element type) {
    EXPECT_EQ(
        library_.send(bytes.data(), count, static_cast<nccl::element>(type), 1 - rank_, handle_, stream_->handle()),
        nccl::result::success);
    passed_ = *stream_->record();
  }
  void receive(std::uint64_t count, element type) {
    EXPECT_EQ(
        library_.recv(bytes.data(), count, static_cast<nccl::element>(type), 1 - rank_, handle_, stream_->handle()),
        nccl::result::success);
    passed_ = *stream_->record();
  }
  [[nodiscard]] nccl::result error() const {
    nccl::result found = nccl::result::success;
    EXPECT_EQ(library_.comm_get_async_error(handle_, &found), nccl::result::success);
    return found;
  }
  [[nodiscard]] bool is_done() const { return *passed_->has_passed(); }

  std::array<std::byte, 64> bytes{};

 private:
  const nccl::functions library_ = stand_in_functions();
  const int rank_;
  nccl::communicator handle_ = nullptr;
  late_device device_;
  const std::unique_ptr<context_stream> stream_ = *device_.make_stream();
  std::shared_ptr<context_event> passed_;
};

class nccl_stand_in : public ::testing::Test {
 protected:
  static nccl::unique_id new_id() {
    nccl::unique_id id{};
    EXPECT_EQ(stand_in_functions().get_unique_id(&id), nccl::result::success);
    return id;
  }
  void expect_invalid_usage() const {
    for (const one_rank* each : {&first, &second}) {
      EXPECT_TRUE(eventually([&] { return each->error() == nccl::result::invalid_usage; }));
      EXPECT_FALSE(each->is_done()) << "until it is aborted";
    }
  }

  const nccl::unique_id id = new_id();
  one_rank first{id, 0};
  one_rank second{id, 1};
};

TEST_F(nccl_stand_in, moves_bytes_when_both_ends_are_there) {
  first.bytes.fill(std::byte{7});
  first.send(10, element::uint8);
  EXPECT_EQ(second.error(), nccl::result::success);
  EXPECT_FALSE(first.is_done()) << "nothing is buffered";
  second.receive(10, element::uint8);
  EXPECT_TRUE(eventually([&] { return first.is_done() && second.is_done(); }));
  EXPECT_EQ(second.bytes[9], std::byte{7});
  EXPECT_EQ(second.bytes[10], std::byte{0});
}

TEST_F(nccl_stand_in, finds_another_count) {
  first.send(10, element::uint8);
  second.receive(11, element::uint8);
  expect_invalid_usage();
}

TEST_F(nccl_stand_in, finds_another_type_of_the_same_size) {
  first.send(10, element::int8);
  second.receive(10, element::uint8);
  expect_invalid_usage();
}

TEST_F(nccl_stand_in, finds_two_that_wait_for_each_other) {
  first.send(10, element::uint8);
  second.send(10, element::uint8);
  expect_invalid_usage();
}

TEST_F(nccl_stand_in, finds_crossed_receipts) {
  first.receive(10, element::uint8);
  second.receive(10, element::uint8);
  expect_invalid_usage();
}

}  // namespace
}  // namespace troupe::testing
