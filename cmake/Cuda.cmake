# Finds nvcc: the one the bootstrap unpacked into build/cuda, else the one on the PATH.
# Device code is built as compute_75 PTX + sm_90 machine code. Programs are linked by the C
# compiler against the simulated libraries (same sonames and version nodes as NVIDIA's), so the
# CUDA language here makes objects only.
if(EXISTS ${CMAKE_SOURCE_DIR}/build/cuda/bin/nvcc AND NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${CMAKE_SOURCE_DIR}/build/cuda/bin/nvcc)
endif()
set(CMAKE_CUDA_ARCHITECTURES 75-virtual 90-real)
set(CMAKE_CUDA_RUNTIME_LIBRARY None)
set(CMAKE_CUDA_STANDARD 17)
enable_language(CUDA)
# PTX in plain text, so that the simulated device can read it without a decompressor.
set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} --no-compress -cudart shared")
set(OOMPROOF_CUDA_INCLUDE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
message(STATUS "CUDA compiler ${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}, headers ${OOMPROOF_CUDA_INCLUDE}")
