// Conversion between row-major and tiled factors; row_kernels.h defines the tiled layout.
#pragma once

#include <cstdint>
#include <cstring>

#include "row_kernels.h"

namespace boostne {

// Copies one tile: `tile` columns, starting at `factor`.
template <class T> void copy_tile(const T* factor, int64_t rows, int64_t width, int64_t tile, T* tiles) {
  for (int64_t i = 0; i < rows; ++i) std::memcpy(tiles + i * tile, factor + i * width, sizeof(T) * tile);
}

// tiles = factor
template <class T> void copy_tiled(const T* factor, int64_t rows, int64_t width, T* tiles) {
  const int64_t tile = tile_width<T>(width);
  for (int64_t at = 0; at < width; at += tile) copy_tile(factor + at, rows, width, tile, tiles + at * rows);
}

// factor = tiles
template <class T> void copy_untiled(const T* tiles, int64_t rows, int64_t width, T* factor) {
  const int64_t tile = tile_width<T>(width);
  for (int64_t at = 0; at < width; at += tile)
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(factor + i * width + at, tiles + at * rows + i * tile, sizeof(T) * tile);
}

// factor += tiles
template <class T> void add_tiled(const T* tiles, int64_t rows, int64_t width, T* factor) {
  const int64_t tile = tile_width<T>(width);
  for (int64_t at = 0; at < width; at += tile)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = 0; c < tile; ++c) factor[i * width + at + c] += tiles[at * rows + i * tile + c];
}

}  // namespace boostne
