// How the threads of a block copy pixels of x, or windows of gy, into a patch in shared memory.
#pragma once
#include "conv.cuh"

// Walk counts through [n][height][width][vectors] in equal steps. Divisions are slow, so it has none: the start and the
// step are divided into coordinates beforehand.
struct Walk {
  uint32_t n, r, c, v, dn, dr, dc, dv, height, width, vectors;
};

// Path is where a Walk starts, and its step. A thread divides once, and keeps two registers from unit to unit.
struct Path {
  uint32_t height, width, vectors;
  uint32_t start, step;  // n, r, c and v in 8 bits each: none is larger than the number of threads of a block
};

// path_split returns the coordinates of place i in [n][height][width][vectors], in 8 bits each.
DEV uint32_t path_split(uint32_t i, uint32_t height, uint32_t width, uint32_t vectors) {
  const uint32_t pixel = i / vectors, row = pixel / width;
  return i % vectors | pixel % width << 8 | row % height << 16 | row / height << 24;
}

// path_from returns the Path of a thread that starts at a place and goes `step` places at a time.
DEV Path path_from(uint32_t start, uint32_t step, uint32_t height, uint32_t width, uint32_t vectors) {
  return {height, width, vectors, path_split(start, height, width, vectors), path_split(step, height, width, vectors)};
}

// walk returns the Walk along a Path, at its start.
DEV Walk walk(const Path &p) {
  const uint32_t at = kept(p.start), by = kept(p.step);
  return {at >> 24,       at >> 16 & 0xff, at >> 8 & 0xff, at & 0xff, by >> 24, by >> 16 & 0xff,
          by >> 8 & 0xff, by & 0xff,       p.height,       p.width,   p.vectors};
}

// walk_on goes one step.
DEV void walk_on(Walk &w) {
  w.v += w.dv, w.c += w.dc, w.r += w.dr, w.n += w.dn;
  if (w.v >= w.vectors) w.v -= w.vectors, w.c++;
  if (w.c >= w.width) w.c -= w.width, w.r++;
  if (w.r >= w.height) w.r -= w.height, w.n++;
}

// conv_clear writes zeros into shared memory, four words at a time.
DEV void conv_clear(uint32_t *at, uint32_t words, uint32_t threads) {
  for (uint32_t i = threadIdx.x; i < words / 4; i += threads) write_vector(at + 4 * i, uint4{0, 0, 0, 0});
}

// conv_vector returns how many of C channels conv_load_pixels copies at once: four words, or one.
DEV uint32_t conv_vector(uint32_t C, uint32_t per) { return C % (4 * per) == 0 ? 4 * per : per; }

// conv_path returns the Path of this thread through a patch, one vector of conv_load_pixels at a time.
DEV Path conv_path(const ConvArgs &a, uint32_t threads, uint32_t per) {
  return path_from(threadIdx.x, threads, a.tile.height, a.tile.width, ceil_div(a.C, conv_vector(a.C, per)));
}

// conv_load_pixels copies [images][height][width] pixels of x [B,H,W,C], from (b0,i0,j0) on, into a patch, with zeros
// outside of the image. It only begins to copy, except in bf16 with an odd number of channels.
template <class P>
DEV void conv_load_pixels(uint32_t *patch, const typename P::act *x, const ConvArgs &a, const Path &path, uint32_t b0,
                          int32_t i0, int32_t j0) {
  const ConvTile &t = a.tile;
  constexpr uint32_t per = conv_per_word<P>;
  const bool wide = conv_vector(a.C, per) == 4 * per, even = a.C % per == 0;
  const uint32_t words = wide ? 4 : 1;
  for (Walk w = walk(path); w.n < t.images; walk_on(w)) {
    const uint32_t row = (uint32_t)i0 + w.r, column = (uint32_t)j0 + w.c, b = b0 + w.n;
    const bool inside = row < a.H && column < a.W && b < a.B;  // above or left of it: large as unsigned
    const typename P::act *src = x + (inside ? ((b * a.H + row) * a.W + column) * a.C + w.v * words * per : 0);
    uint32_t *dst = patch + ((w.n * t.height + w.r) * t.width + w.c) * t.pitch + w.v * words;
    if (wide) {
      cp_async16(smem_u32(dst), src, inside);
    } else if (even) {
      cp_async4(smem_u32(dst), src, inside);
    } else {
      uint32_t v = 0;
      if (inside) {
        v = src[0];
        if (w.v * per + 1 < a.C) v |= (uint32_t)src[1] << 16;
      }
      *dst = v;
    }
  }
}
