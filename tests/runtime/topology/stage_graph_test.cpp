// Goal: every way a graph can be wrong is found, and the error names the nodes. Method: a good chain, spoilt in one
// place per case.
#include "runtime/topology/stage_graph.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe {
namespace {

using testing::HasSubstr;

graph_node node(std::string name, node_kind kind, std::string group = {}) {
  graph_node n;
  n.name = std::move(name);
  n.kind = kind;
  n.pipeline_group = std::move(group);
  return n;
}

/// loader -> a -> b -> metrics, with every node handed to `spoil` before it is added.
stage_graph chain(const std::function<void(graph_node&)>& spoil) {
  stage_graph g;
  for (graph_node n : {node("loader", node_kind::source), node("a", node_kind::stage, "net"),
                       node("b", node_kind::stage, "net"), node("metrics", node_kind::sink)}) {
    spoil(n);
    g.add(n);
  }
  g.connect("loader", "a").connect("a", "b").connect("b", "metrics");
  return g;
}

stage_graph good() {
  return chain([](graph_node&) {});
}

struct wrong_graph {
  stage_graph graph;
  error_code code;
  std::string words;  // somewhere in the whole message
};

void expect_refused(const wrong_graph& wrong) {
  const auto result = validate(wrong.graph);
  ASSERT_FALSE(result.has_value()) << wrong.words;
  EXPECT_EQ(result.error().code, wrong.code) << to_string(result.error());
  EXPECT_THAT(to_string(result.error()), HasSubstr(wrong.words));
  EXPECT_NE(result.error().fix, "");
}

TEST(validate, accepts_chains) {
  EXPECT_TRUE(validate(good()).has_value());
  for (std::uint32_t stages = 1; stages <= 5; ++stages) {
    EXPECT_TRUE(validate(make_chain({.stages = stages, .replicas = stages, .sinks = {"x", "y"}})).has_value());
  }
}

TEST(validate, refuses_wrong_edges) {
  expect_refused({good().connect("b", "nowhere"), error_code::topology_invalid, "there is no node 'nowhere'"});
  expect_refused({good().connect("nobody", "b"), error_code::topology_invalid, "there is no node 'nobody'"});
  expect_refused({good().connect_ports({"b", "side"}, {"metrics", "in"}), error_code::topology_dangling_port,
                  "stage 'b' has no output 'side'"});
  expect_refused({good().connect_ports({"b", "out"}, {"metrics", "labels"}), error_code::topology_dangling_port,
                  "sink 'metrics' has no input 'labels'"});
  expect_refused(
      {good().connect("loader", "loader"), error_code::topology_dangling_port, "source 'loader' has no input"});
  expect_refused({good().connect("a", "b"), error_code::topology_invalid, "input 'in' of 'b' is already fed by 'a'"});
  expect_refused(
      {good().connect("b", "a"), error_code::topology_invalid, "input 'in' of 'a' is already fed by 'loader'"});
  expect_refused({good().add(node("raw", node_kind::sink)).connect("loader", "raw"), error_code::topology_invalid,
                  "edge loader.out -> raw.in"});
}

TEST(validate, refuses_cycles_by_their_path) {
  stage_graph g = good();
  g.add(node("x", node_kind::stage)).add(node("y", node_kind::stage)).add(node("z", node_kind::stage));
  g.connect("x", "y").connect("y", "z").connect("z", "x");
  expect_refused({g, error_code::topology_cycle, "x -> y -> z -> x"});
  expect_refused(
      {good().add(node("self", node_kind::stage)).connect("self", "self"), error_code::topology_cycle, "self -> self"});
  EXPECT_EQ(topological_order(g).error().code, error_code::topology_cycle);
}

TEST(validate, refuses_ports_that_hang) {
  expect_refused({good().add(node("idle", node_kind::stage)).connect("b", "idle"), error_code::topology_dangling_port,
                  "stage 'idle': no node receives from its output 'out'"});
  expect_refused({good().add(node("more", node_kind::sink)), error_code::topology_dangling_port,
                  "sink 'more': no node sends to its input 'in'"});
  expect_refused({chain([](graph_node& n) {
                    if (n.name == "a") n.outputs = {"out", "side"};
                  }),
                  error_code::topology_dangling_port, "stage 'a': no node receives from its output 'side'"});
}

TEST(validate, refuses_names_used_twice) {
  expect_refused(
      {good().add(node("a", node_kind::stage)), error_code::topology_duplicate_name, "two nodes are called 'a'"});
  expect_refused({chain([](graph_node& n) {
                    if (n.name == "a") n.outputs = {"in"};
                  }),
                  error_code::topology_duplicate_name, "stage 'a': two ports are called 'in'"});
}

TEST(validate, refuses_wrong_nodes) {
  const auto spoilt = [](std::string name, const std::function<void(graph_node&)>& change) {
    return chain([&](graph_node& n) {
      if (n.name == name) change(n);
    });
  };
  const auto refused = [](const stage_graph& g, std::string words) {
    expect_refused({g, error_code::topology_invalid, std::move(words)});
  };
  refused(stage_graph{}, "there is no source");
  refused(spoilt("a", [](auto& n) { n.replicas = 0; }), "stage 'a': replicas is 0");
  refused(spoilt("a", [](auto& n) { n.replicas = limits::replicas_max + 1; }), "stage 'a': replicas is 257");
  refused(spoilt("a", [](auto& n) { n.replicas = 2; }),
          "stage 'b': 1 replicas, and 'a' of the same pipeline 'net' has 2");
  refused(spoilt("b", [](auto& n) { n.num_pipe_buffers = 0; }), "stage 'b': pipe buffers is 0");
  refused(spoilt("b", [](auto& n) { n.num_pipe_buffers = limits::pipe_buffers_max + 1; }), "stage 'b': pipe buffers");
  refused(spoilt("loader", [](auto& n) { n.replicas = 2; }), "source 'loader': a source is not copied");
  refused(spoilt("metrics", [](auto& n) { n.replicas = 2; }), "sink 'metrics': a sink is not copied");
  refused(spoilt("loader", [](auto& n) { n.inputs = {"in"}; }), "source 'loader': a source has no input");
  refused(spoilt("metrics", [](auto& n) { n.outputs = {"out"}; }), "sink 'metrics': a sink has no output");
  refused(spoilt("b", [](auto& n) { n.name.clear(); }), "the node has no name");
  refused(make_chain({.stages = 0}), "there is no stage");
  refused(make_chain({.sinks = {}}), "there is no sink");
  refused(make_chain({.stages = limits::stages_max + 1}), "1025 nodes are a stage");
}

/// loader -> fork -> short, and fork -> first -> second; both -> join -> metrics.
stage_graph diamond(const std::function<void(graph_node&)>& spoil) {
  stage_graph g;
  graph_node join = node("join", node_kind::join);
  join.inputs = {"a", "b"};
  for (graph_node n :
       {node("loader", node_kind::source), node("fork", node_kind::stage), node("short", node_kind::stage),
        node("first", node_kind::stage), node("second", node_kind::stage), join, node("metrics", node_kind::sink)}) {
    spoil(n);
    g.add(n);
  }
  return g.connect("loader", "fork")
      .connect("fork", "short")
      .connect("fork", "first")
      .connect("first", "second")
      .connect_ports({"short", "out"}, {"join", "a"})
      .connect_ports({"second", "out"}, {"join", "b"})
      .connect("join", "metrics");
}

TEST(validate, accepts_forks_joins_routes_and_sinks_on_the_way) {
  EXPECT_TRUE(validate(diamond([](graph_node&) {})).has_value());
  stage_graph g = diamond([](graph_node& n) {
    if (n.name == "fork") {
      n.kind = node_kind::route;
      n.covers_all_samples = true;
      n.outputs = {"out", "rest"};
    }
    if (n.name == "first") n.replicas = 3;
    if (n.name == "second") n.ordered = true;
  });
  g.add(node("early", node_kind::sink)).connect_ports({"fork", "rest"}, {"early", "in"});
  EXPECT_TRUE(validate(g).has_value()) << to_string(validate(g).error());
}

TEST(validate, refuses_joins_and_routes_that_are_none) {
  const auto spoilt = [](std::string name, const std::function<void(graph_node&)>& change) {
    return diamond([&](graph_node& n) {
      if (n.name == name) change(n);
    });
  };
  expect_refused(
      {spoilt("join", [](auto& n) { n.inputs = {"a"}; }), error_code::topology_invalid, "a join of 1 input"});
  expect_refused({spoilt("fork", [](auto& n) { n.kind = node_kind::route; }), error_code::topology_invalid,
                  "route 'fork': a route with 1 case"});
  expect_refused({spoilt("fork",
                         [](auto& n) {
                           n.kind = node_kind::route;
                           n.outputs = {"out", "rest"};
                         }),
                  error_code::topology_route_incomplete, "route 'fork': a sample that matches none"});
  expect_refused({spoilt("metrics",
                         [](auto& n) {
                           n.inputs = {"in", "more"};
                         }),
                  error_code::topology_invalid, "a sink has one input, and not 2"});
  stage_graph two = diamond([](graph_node&) {});
  two.add(node("other", node_kind::source)).add(node("c", node_kind::stage)).add(node("more", node_kind::sink));
  expect_refused({two.connect("other", "c").connect("c", "more"), error_code::topology_invalid, "2 sources"});
}

TEST(validate, refuses_a_join_that_can_starve_and_names_where_order_is_lost) {
  const auto replicated = [](bool ordered_behind) {
    return diamond([=](graph_node& n) {
      if (n.name == "first") n.replicas = 3;
      if (n.name == "second") n.ordered = ordered_behind;
    });
  };
  expect_refused({replicated(false), error_code::topology_join_starves,
                  "join 'join': it can starve: it takes micro-batches in id order, and stage 'second' passes them on"});
  EXPECT_TRUE(validate(replicated(true)).has_value());
  // A join right behind the replicas picks each id from the edge that it is on.
  EXPECT_TRUE(validate(diamond([](graph_node& n) {
                if (n.name == "second") n.replicas = 3;
              })).has_value());
}

TEST(emits_in_order, is_lost_where_replicas_merge) {
  const stage_graph g = diamond([](graph_node& n) {
    if (n.name == "first") n.replicas = 2;
  });
  EXPECT_TRUE(emits_in_order(g, g.find("loader")));
  EXPECT_TRUE(emits_in_order(g, g.find("first"))) << "each replica gets ascending ids";
  EXPECT_FALSE(emits_in_order(g, g.find("second")));
  EXPECT_TRUE(emits_in_order(g, g.find("join")));
  EXPECT_TRUE(emits_in_order(make_chain({.stages = 3, .replicas = 2}), 3)) << "a copied pipeline is wired one to one";
}

TEST(find_shortages, counts_slots_by_size_as_the_least) {
  graph_node join = node("join", node_kind::join);
  join.inputs = {"a", "b"};
  stage_graph g;
  g.add(node("loader", node_kind::source)).add(node("fork", node_kind::stage)).add(node("short", node_kind::stage));
  g.add(join).add(node("metrics", node_kind::sink)).connect("loader", "fork").connect("fork", "short");
  g.connect_ports({"short", "out"}, {"join", "a"}).connect("join", "metrics");
  std::string last = "fork";
  for (const std::string name : {"1", "2", "3", "4"}) {
    g.add(node(name, node_kind::stage)).connect(last, name);
    last = name;
  }
  const auto found = find_shortages(g.connect_ports({last, "out"}, {"join", "b"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], HasSubstr("the branch by 'short' has 4 slots where micro-batches are large, and"));
}

TEST(find_shortages, names_the_short_branch) {
  const auto found = find_shortages(diamond([](graph_node& n) { n.num_pipe_buffers = 1; }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], HasSubstr("between 'fork' and 'join' the branch by 'short' has 2 slots"));
  EXPECT_THAT(find_shortages(diamond([](graph_node&) {})), testing::IsEmpty());
  EXPECT_THAT(find_shortages(good()), testing::IsEmpty());
}

TEST(topological_order, keeps_the_order_of_addition_where_it_can) {
  stage_graph g;
  g.add(node("metrics", node_kind::sink)).add(node("b", node_kind::stage)).add(node("a", node_kind::stage));
  g.add(node("loader", node_kind::source)).connect("loader", "a").connect("a", "b").connect("b", "metrics");
  EXPECT_EQ(*topological_order(g), (std::vector<std::size_t>{3, 2, 1, 0}));
  EXPECT_EQ(*topological_order(good()), (std::vector<std::size_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace troupe
