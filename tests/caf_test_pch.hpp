#include <caf/all.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/std_pch.hpp"
