#include <caf/all.hpp>

#include <troupe/messages/std_pch.hpp>
