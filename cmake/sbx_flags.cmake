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
  target_compile_options(sbx_flags INTERFACE --coverage -O0)
  target_link_options(sbx_flags INTERFACE --coverage)
endif()

# sbx_module(NAME SOURCES... LINK libs...): one directory, one static library
function(sbx_module name)
  cmake_parse_arguments(M "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${M_SOURCES})
  target_link_libraries(${name} PUBLIC sbx_flags ${M_LINK})
endfunction()
