#include <fmt/format.h>

#include "messages/std_pch.hpp"
