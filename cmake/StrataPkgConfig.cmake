# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
# strata_pkg_config(module...): writes and installs strata.pc, which is all that a program needs
# which is built without CMake. Strata's headers are templates on Kokkos, so that Kokkos' flags are
# part of Cflags, and its libraries, whose own package is for CMake only, of Libs. What Strata's
# sources alone use is in Libs.private, and in Libs where Strata's libraries are static.
#
# A C_INTERFACE gets a strata-<name>.pc: a shared library, which brings all that it needs.

# The value of a target's property in C++, what there is for other languages left out.
function(_strata_in_cxx result target property)
  get_target_property(value ${target} ${property})
  if(NOT value)
    set(value)
  endif()
  string(REGEX REPLACE "\\$<(COMPILE|LINK)_LANGUAGE:CXX>" "1" value "${value}")
  string(REGEX REPLACE "\\$<(COMPILE|LINK)_LANGUAGE:[A-Z]+>" "0" value "${value}")
  set(${result} "${value}" PARENT_SCOPE)
endfunction()

# Adds what `items` and all that they name in turn give to a program, once each, to the global
# properties Strata_pc_<part>_{libraries,options,INTERFACE_...}.
function(_strata_walk part)
  foreach(item IN LISTS ARGN)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" item "${item}")
    string(REGEX REPLACE "^\\$<1:(.*)>$" "\\1" item "${item}")
    if(item STREQUAL "" OR item MATCHES "^::@|^\\$<0:|^\\$<BUILD_INTERFACE:")
      continue()
    elseif(NOT TARGET ${item})
      if(NOT item MATCHES "^[-/$]")
        set(item -l${item})
      endif()
      set_property(GLOBAL APPEND PROPERTY Strata_pc_${part}_libraries ${item})
      continue()
    endif()
    get_target_property(alias ${item} ALIASED_TARGET)
    if(alias)
      set(item ${alias})
    endif()
    get_property(walked GLOBAL PROPERTY Strata_pc_walked)
    if(item IN_LIST walked)
      continue()
    endif()
    set_property(GLOBAL APPEND PROPERTY Strata_pc_walked ${item})
    get_target_property(type ${item} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      set_property(GLOBAL APPEND PROPERTY Strata_pc_${part}_libraries "$<TARGET_LINKER_FILE:${item}>")
    endif()
    foreach(property IN ITEMS COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_OPTIONS)
      _strata_in_cxx(value ${item} INTERFACE_${property})
      if(NOT value STREQUAL "")
        set_property(GLOBAL APPEND PROPERTY Strata_pc_${part}_${property} ${value})
      endif()
    endforeach()
    _strata_in_cxx(next ${item} INTERFACE_LINK_LIBRARIES)
    _strata_walk(${part} ${next})
  endforeach()
endfunction()

# <result>: what was found for `parts`, as flags in one line.
function(_strata_flags result parts property prefix)
  set(value)
  foreach(part IN LISTS parts)
    get_property(more GLOBAL PROPERTY Strata_pc_${part}_${property})
    list(APPEND value ${more})
  endforeach()
  list(JOIN value "$<SEMICOLON>" value)
  set(value "$<FILTER:$<REMOVE_DUPLICATES:${value}>,EXCLUDE,^$>")
  set(${result} "$<$<BOOL:${value}>:${prefix}$<JOIN:${value}, ${prefix}>>" PARENT_SCOPE)
endfunction()

function(_strata_write_pc name description cflags libs private)
  set(folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH up /${folder} /)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(cxx ${CMAKE_CXX_COMPILER})
  if(Kokkos_ENABLE_CUDA AND NOT cxx MATCHES "nvcc")  # Kokkos' launcher calls its wrapper, which a program without CMake calls itself
    find_program(Strata_NVCC_WRAPPER nvcc_wrapper HINTS ${Kokkos_DIR}/../../../bin)
    mark_as_advanced(Strata_NVCC_WRAPPER)
    if(Strata_NVCC_WRAPPER)
      set(cxx ${Strata_NVCC_WRAPPER})
    endif()
  endif()
  set(text
"# SPDX-FileCopyrightText: The Strata authors
# SPDX-License-Identifier: BSD-3-Clause
prefix=\${pcfiledir}/${up}
includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}
libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}
# the compiler that Strata and Kokkos were built with, Kokkos' version and its backends
cxx=${cxx}
kokkos=${Kokkos_VERSION}
backends=${Kokkos_DEVICES}

Name: ${name}
Description: ${description}
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}/strata ${cflags}
Libs: -L\${libdir} ${libs}
Libs.private: ${private}
")
  string(REPLACE "SHELL:" "" text "${text}")
  set(file ${PROJECT_BINARY_DIR}/CMakeFiles/pkgconfig/${name}.pc)
  file(GENERATE OUTPUT ${file} CONTENT "${text}")
  set(part)
  if(NOT name STREQUAL "strata")  # a library for C
    set(part COMPONENT c)
  endif()
  install(FILES ${file} DESTINATION ${folder} ${part})
endfunction()

function(strata_pkg_config)
  # Modules from the outermost on, as linkers want them.
  set(modules)
  foreach(module IN LISTS ARGN)
    get_property(is_adapter GLOBAL PROPERTY Strata_${module}_ADAPTER)
    if(NOT is_adapter)
      list(PREPEND modules ${module})
      set_property(GLOBAL APPEND PROPERTY Strata_pc_walked strata_${module})
    endif()
  endforeach()
  foreach(part IN ITEMS public private)
    foreach(module IN LISTS modules)
      _strata_in_cxx(linked strata_${module} INTERFACE_LINK_LIBRARIES)
      if(part STREQUAL "public")
        list(FILTER linked EXCLUDE REGEX "^\\$<LINK_ONLY:")
      endif()
      _strata_walk(${part} ${linked})
    endforeach()
  endforeach()

  list(TRANSFORM modules PREPEND -lstrata_ OUTPUT_VARIABLE own)
  list(JOIN own " " own)
  _strata_flags(options public COMPILE_OPTIONS "")
  _strata_flags(definitions public COMPILE_DEFINITIONS -D)
  _strata_flags(includes public INCLUDE_DIRECTORIES -I)
  set(cflags "${CMAKE_CXX20_STANDARD_COMPILE_OPTION} ${options} ${definitions} ${includes}")
  set(needed public)
  set(private)
  if(BUILD_SHARED_LIBS)
    _strata_flags(private private libraries "")
  else()
    list(APPEND needed private)
  endif()
  _strata_flags(link_options "${needed}" LINK_OPTIONS "")
  _strata_flags(libraries "${needed}" libraries "")
  list(TRANSFORM Strata_KOKKOS_RPATH PREPEND -Wl,-rpath, OUTPUT_VARIABLE rpath)
  list(JOIN rpath " " rpath)
  set(libs "${own} ${link_options} ${libraries} ${rpath}")
  _strata_write_pc(strata "${PROJECT_DESCRIPTION}" "${cflags}" "${libs}" "${private}")

  foreach(module IN LISTS ARGN)
    get_property(is_c GLOBAL PROPERTY Strata_${module}_C_INTERFACE)
    if(is_c)
      _strata_write_pc(strata-${module} "Strata's library strata_${module} for C" "" -lstrata_${module} "")
    endif()
  endforeach()
endfunction()
