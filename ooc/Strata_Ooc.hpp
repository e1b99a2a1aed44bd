// SPDX-FileCopyrightText: The Strata authors
// SPDX-License-Identifier: BSD-3-Clause
#ifndef STRATA_OOC_OOC_HPP
#define STRATA_OOC_OOC_HPP

// All of Strata::ooc: tiles in host memory, factored by one or several devices.
#include <ooc/Strata_BlockCyclicTiles.hpp>
#include <ooc/Strata_Cholesky.hpp>
#include <ooc/Strata_CholeskyOptions.hpp>
#include <ooc/Strata_OocFields.hpp>
#include <ooc/executor/Strata_Simulate.hpp>
#include <ooc/schedule/Strata_Messages.hpp>
#include <ooc/schedule/Strata_PrecisionMap.hpp>
#include <ooc/schedule/Strata_RankGrid.hpp>
#include <ooc/schedule/Strata_RankOrder.hpp>
#include <ooc/schedule/Strata_Schedule.hpp>
#include <ooc/schedule/Strata_TilePlan.hpp>
#include <ooc/team/Strata_DeviceTeam.hpp>
#include <ooc/tiles/Strata_TileMatrix.hpp>
#include <ooc/tiles/Strata_TileSources.hpp>
#include <ooc/tiles/Strata_TileStore.hpp>

#endif
