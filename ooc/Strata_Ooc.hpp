// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_HPP
#define STRATA_OOC_HPP

// All of Strata::ooc: tiles in host memory, factored by one or several devices.
#include <ooc/Strata_BlockCyclicTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/Strata_CholeskyOptions.hpp>
#include <ooc/Strata_DeviceTeam.hpp>
#include <ooc/Strata_Messages.hpp>
#include <ooc/Strata_PrecisionMap.hpp>
#include <ooc/Strata_RankGrid.hpp>
#include <ooc/Strata_RankOrder.hpp>
#include <ooc/Strata_Schedule.hpp>
#include <ooc/Strata_Simulate.hpp>
#include <ooc/Strata_SimulateRanks.hpp>
#include <ooc/Strata_TileMatrix.hpp>
#include <ooc/Strata_TilePlan.hpp>
#include <ooc/Strata_TileSources.hpp>
#include <ooc/Strata_TileStore.hpp>

#endif
