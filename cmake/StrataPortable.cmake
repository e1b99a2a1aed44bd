# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# strata_portable(<target> <site>): it looks for libraries in the wheel alone, below <site>, the folder of Python's packages. With
# CUDA it takes NVIDIA's libraries from NVIDIA's packages there, or else from the machine's toolkit. This is an RPATH, since that
# holds for the libraries of libraries, too.
function(strata_portable target site)
  set(rpath ${site}/strata_solvers.libs)
  if(Kokkos_ENABLE_CUDA)
    if(CUDAToolkit_VERSION VERSION_LESS 13)
      foreach(package IN ITEMS cublas cuda_runtime cusolver cusparse nvjitlink)
        list(APPEND rpath ${site}/nvidia/${package}/lib)
      endforeach()
    else()
      list(APPEND rpath ${site}/nvidia/cu${CUDAToolkit_VERSION_MAJOR}/lib)
    endif()
    list(APPEND rpath /usr/local/cuda/lib64)
  endif()
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${rpath}" INSTALL_RPATH_USE_LINK_PATH OFF)
  target_link_options(${target} PRIVATE "LINKER:--disable-new-dtags")
endfunction()
