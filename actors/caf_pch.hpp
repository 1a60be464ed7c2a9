#include <caf/all.hpp>

#include "messages/std_pch.hpp"
