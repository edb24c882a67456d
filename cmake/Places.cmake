# Where built things lie, and what every C target is compiled with.
set(OOMPROOF_BIN_DIR ${CMAKE_BINARY_DIR}/bin)
set(OOMPROOF_LIB_DIR ${CMAKE_BINARY_DIR}/lib)
set(OOMPROOF_SIM_DIR ${CMAKE_BINARY_DIR}/sim)
set(CMAKE_SKIP_BUILD_RPATH ON) # LD_LIBRARY_PATH decides which device a program runs on

add_library(oomproof_flags INTERFACE)
target_compile_options(oomproof_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Wshadow;-Wstrict-prototypes;-Wmissing-prototypes;-fno-omit-frame-pointer>)
# ASan and UBSan, or TSan, of everything but the shim, which is preloaded into whatever there is. The
# simulated device tells them of its fibers (sim/cudart/sanitize.h); its kernels are compiled without.
add_library(oomproof_sanitize INTERFACE)
if(OOMPROOF_ASAN AND OOMPROOF_TSAN)
  message(FATAL_ERROR "OOMPROOF_ASAN and OOMPROOF_TSAN are two builds: choose one")
elseif(OOMPROOF_ASAN)
  set(sanitizers address,undefined)
  target_sources(oomproof_sanitize INTERFACE ${CMAKE_CURRENT_LIST_DIR}/asan_options.c)
elseif(OOMPROOF_TSAN)
  set(sanitizers thread)
endif()
if(sanitizers)
  target_compile_options(oomproof_sanitize INTERFACE
    $<$<COMPILE_LANGUAGE:C>:-fsanitize=${sanitizers};-fno-sanitize-recover=undefined>)
  target_link_options(oomproof_sanitize INTERFACE -fsanitize=${sanitizers})
endif()

# What a CUDA program here links: the simulated libraries (targets of sim/), or with the gpu preset
# NVIDIA's. LD_LIBRARY_PATH can swap one for the other at run time; without it the run path finds
# the simulated ones, which report "no device" unless they were asked for.
if(OOMPROOF_GPU)
  set(OOMPROOF_CUDA_LIB /usr/local/cuda/lib64 CACHE PATH "where NVIDIA's libraries lie")
  foreach(lib cudart.so.13 cublas.so.13 cudnn.so.9)
    list(APPEND OOMPROOF_NVIDIA_LIBS ${OOMPROOF_CUDA_LIB}/lib${lib})
  endforeach()
  set(OOMPROOF_DEVICE_LIBS ${OOMPROOF_NVIDIA_LIBS})
  set(OOMPROOF_CUDART ${OOMPROOF_CUDA_LIB}/libcudart.so.13)
else()
  set(OOMPROOF_DEVICE_LIBS sim_cudart sim_cublas sim_cudnn)
  set(OOMPROOF_CUDART sim_cudart)
endif()
