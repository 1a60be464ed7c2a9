#include <fmt/format.h>

#include <troupe/messages/std_pch.hpp>
