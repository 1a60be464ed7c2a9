#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/messages/std_pch.hpp>
