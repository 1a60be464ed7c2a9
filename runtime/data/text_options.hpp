#pragma once

#include <array>

#include "runtime/data/array_options.hpp"
#include "runtime/data/data_option.hpp"

namespace troupe {

/// The options of kinds that are texts for a tokenizer.
inline constexpr data_option tokenizer_option{.name = "tokenizer",
                                              .form = data_value::text,
                                              .value_name = "FOLDER",
                                              .example = "models/bert",
                                              .help = "the folder of the model, or a file, that has the tokenizer"};
inline constexpr data_option max_length_option{.name = "max-length",
                                               .form = data_value::count,
                                               .value_name = "TOKENS",
                                               .example = "384",
                                               .help = "the most tokens of a sample, those that are added with them",
                                               .minimum = 1,
                                               .maximum = 1'000'000};
inline constexpr data_option stride_option{.name = "stride",
                                           .form = data_value::count,
                                           .value_name = "TOKENS",
                                           .example = "128",
                                           .help =
                                               "squad: tokens that two windows have both; text: tokens from the "
                                               "beginning of one sample to that of the next",
                                           .minimum = 0,
                                           .maximum = 1'000'000};
inline constexpr std::array<std::string_view, 2> padding_names = {"longest", "max-length"};
inline constexpr data_option padding_option{
    .name = "padding",
    .form = data_value::choice,
    .value_name = "LENGTH",
    .example = "max-length",
    .help = "how long samples are made: as the longest of their micro-batch (the default), or max-length",
    .choices = padding_names};

/// Those of columns of texts.
inline constexpr data_option text_option{.name = "text",
                                         .form = data_value::text,
                                         .value_name = "NAME",
                                         .example = "sentence",
                                         .help = "the column with the texts"};
inline constexpr data_option pair_option{.name = "pair",
                                         .form = data_value::text,
                                         .value_name = "NAME",
                                         .example = "sentence2",
                                         .help = "the column with second texts, which stand behind the first ones"};
inline constexpr data_option each_alone_option{
    .name = "each-alone",
    .form = data_value::toggle,
    .help = "both texts of a pair are samples of their own, as models of sentence embeddings take them"};

/// Those of texts for language models.
inline constexpr data_option block_option{.name = "block",
                                          .form = data_value::count,
                                          .value_name = "TOKENS",
                                          .example = "1024",
                                          .help = "tokens of one sample; without it 1024, or fewer for a shorter model",
                                          .minimum = 2,
                                          .maximum = 1'000'000};
inline constexpr std::array<std::string_view, 3> delimiter_names = {"space", "newline", "none"};
inline constexpr data_option delimiter_option{
    .name = "delimiter",
    .form = data_value::choice,
    .value_name = "NAME",
    .example = "newline",
    .help = "what stands between the context and each choice; without it a space",
    .choices = delimiter_names};

/// Those of answers that are found in a context.
inline constexpr data_option n_best_option{.name = "n-best",
                                           .form = data_value::count,
                                           .value_name = "N",
                                           .example = "20",
                                           .help = "how many answers of a window are looked at; 20 without it",
                                           .minimum = 1,
                                           .maximum = 1000};
inline constexpr data_option max_answer_length_option{.name = "max-answer-length",
                                                      .form = data_value::count,
                                                      .value_name = "TOKENS",
                                                      .example = "30",
                                                      .help = "the most tokens of an answer; 30 without it",
                                                      .minimum = 1,
                                                      .maximum = 1'000'000};
inline constexpr data_option null_threshold_option{
    .name = "null-threshold",
    .form = data_value::numbers,
    .value_name = "NUMBER",
    .example = "0.5",
    .help = "how much the score without an answer must be above that of the best answer to win; 0 without it",
    .minimum = -1e9,
    .maximum = 1e9,
    .length = 1};

inline constexpr std::array squad_options = {tokenizer_option,         max_length_option,    stride_option,
                                             padding_option,           inputs_option,        n_best_option,
                                             max_answer_length_option, null_threshold_option};

inline constexpr std::array language_options = {tokenizer_option, block_option, stride_option, inputs_option};
inline constexpr std::array choice_options = {tokenizer_option, max_length_option, padding_option, delimiter_option,
                                              inputs_option};

}  // namespace troupe
