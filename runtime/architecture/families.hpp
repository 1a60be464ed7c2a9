#pragma once

#include <functional>
#include <map>
#include <string>

#include "runtime/architecture/config_reader.hpp"
#include "runtime/architecture/network.hpp"

namespace troupe {

/// Writes a model whose name says all sizes.
using named_builder = std::function<void(network& net)>;
/// Writes a model whose sizes are in a configuration. It reads all of the configuration first: sizes that cannot be are
/// replaced by 1, so that nothing large is made before config_reader::finish() tells them.
using configured_builder = std::function<void(network& net, config_reader& config)>;

/// What each family of models adds to the tables, by the name for --arch, or by the class in config.json.
void add_resnets(std::map<std::string, named_builder>& to);
void add_efficient_nets(std::map<std::string, named_builder>& to);
void add_efficient_nets_lite(std::map<std::string, named_builder>& to);
void add_vggs(std::map<std::string, named_builder>& to);
void add_dense_nets(std::map<std::string, named_builder>& to);
void add_mobile_nets(std::map<std::string, named_builder>& to);
void add_vision_transformers(std::map<std::string, named_builder>& to);
void add_vit(std::map<std::string, configured_builder>& to);
void add_berts(std::map<std::string, configured_builder>& to);
void add_distilbert(std::map<std::string, configured_builder>& to);
void add_gpt2(std::map<std::string, configured_builder>& to);
void add_llamas(std::map<std::string, configured_builder>& to);

}  // namespace troupe
