#pragma once

#include <string>

#include "runtime/image/picture_steps.hpp"

namespace troupe {

/// FOLDER/preprocessor_config.json, unless FOLDER is that file itself.
std::string preset_file(const std::string& folder);

/// What the image processors of transformers 4.57 do, by the file that they save: those of ViT, DeiT, BEiT, CLIP,
/// SigLIP, ConvNeXT, BiT and MobileNet (V1, V2), which many other models use, too. Keys that are missing have the
/// processor's defaults. A processor whose name ends in "Fast" resizes tensors and not pictures, which can differ in
/// the last bit of a pixel: it is read as the one without. Errors: missing E0301, unreadable E0307; E0210 for a file
/// that is no such JSON; E0303 for another processor, and for steps that are not made here.
expected<picture_steps> read_image_preset(const std::string& file);

}  // namespace troupe
