# One INTERFACE target, sbx_flags, that every module links: language, warnings, hardening.
include(CheckCCompilerFlag)

add_library(sbx_flags INTERFACE)
target_compile_features(sbx_flags INTERFACE c_std_17)
set(CMAKE_C_EXTENSIONS ON) # gnu17: cleanup attribute, statement expressions
target_compile_definitions(sbx_flags INTERFACE _GNU_SOURCE SBX_VERSION="${PROJECT_VERSION}")
# assert() states what must never be false; a build that forgets it is not the one that was tested.
target_compile_options(sbx_flags INTERFACE -UNDEBUG)
target_include_directories(sbx_flags INTERFACE ${CMAKE_SOURCE_DIR})

function(sbx_flag flag)
  string(MAKE_C_IDENTIFIER "HAVE${flag}" var)
  set(CMAKE_REQUIRED_FLAGS -Werror)
  check_c_compiler_flag(${flag} ${var})
  if(${var})
    target_compile_options(sbx_flags INTERFACE ${flag})
  endif()
endfunction()

foreach(flag
    -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wvla -Wformat=2 -Wstrict-prototypes
    -Wmissing-prototypes -Wold-style-definition -Wcast-qual -Wcast-align -Wwrite-strings
    -Wpointer-arith -Wundef -Wnull-dereference -Wduplicated-cond -Wduplicated-branches
    -Wlogical-op -Wimplicit-fallthrough -Wredundant-decls)
  sbx_flag(${flag})
endforeach()

# Clang looks into the macros of system headers (NLMSG_DATA, RTA_NEXT), and warns of what gcc
# under -Wpedantic alone does. gcc is what the tree is kept free of warnings with.
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  target_compile_options(sbx_flags INTERFACE -Wno-cast-qual -Wno-cast-align
    -Wno-gnu-variable-sized-type-not-at-end -Wno-string-concatenation)
endif()

if(SBX_WERROR)
  target_compile_options(sbx_flags INTERFACE -Werror)
endif()

if(SBX_HARDEN)
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection
      -ftrivial-auto-var-init=zero -fno-strict-overflow)
    sbx_flag(${flag})
  endforeach()
  if(NOT SBX_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(sbx_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  endif()
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  target_compile_options(sbx_flags INTERFACE -fPIE)
  target_link_options(sbx_flags INTERFACE -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
target_link_options(sbx_flags INTERFACE -Wl,--as-needed)

if(SBX_SANITIZE)
  target_compile_options(sbx_flags INTERFACE -fsanitize=${SBX_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(sbx_flags INTERFACE -fsanitize=${SBX_SANITIZE})
endif()
if(SBX_FUZZ)
  target_compile_options(sbx_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(SBX_COVERAGE)
  # The counters are in a file that all processes share: see tests/support/coverage.c.
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "SBX_COVERAGE needs clang: remove ${CMAKE_BINARY_DIR}, cmake --preset coverage")
  endif()
  target_compile_options(sbx_flags INTERFACE -O0 -fprofile-instr-generate -fcoverage-mapping
    -fprofile-update=atomic "SHELL:-mllvm -runtime-counter-relocation")
  target_link_options(sbx_flags INTERFACE -fprofile-instr-generate -Wl,--build-id)
  # Not in the build directory: the tests' worlds have a /tmp and a $HOME of their own.
  string(SHA256 id ${CMAKE_BINARY_DIR})
  string(SUBSTRING ${id} 0 12 id)
  set(SBX_COVERAGE_DIR /dev/shm/sbx-coverage-${id} CACHE PATH "where the counters are")
  add_library(sbx_coverage STATIC ${CMAKE_SOURCE_DIR}/tests/support/coverage.c)
  target_compile_definitions(sbx_coverage PRIVATE _GNU_SOURCE
    SBX_COVERAGE_DIR="${SBX_COVERAGE_DIR}")
  set_target_properties(sbx_coverage PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(sbx_flags INTERFACE sbx_coverage)
endif()

# sbx_module(NAME SOURCES... LINK libs...): one directory, one static library
function(sbx_module name)
  cmake_parse_arguments(M "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${M_SOURCES})
  target_link_libraries(${name} PUBLIC sbx_flags ${M_LINK})
endfunction()
