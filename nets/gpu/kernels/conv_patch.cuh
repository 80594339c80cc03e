// How the threads of a block copy pixels of x, or windows of gy, into a patch in shared memory.
#pragma once
#include "conv.cuh"

// Walk counts through places of [n][height][width] in equal steps. Divisions are slow, so it has none: the start and the
// step are divided into coordinates beforehand.
struct Walk {
  uint32_t n, r, c, dn, dr, dc, height, width;
};

// Path is where a Walk starts, and its step. A thread divides once, and keeps two registers from unit to unit.
struct Path {
  uint32_t height, width;
  uint32_t start, step;  // n, r and c in 8 bits each: none is larger than the number of threads of a block
};

// path_split returns the coordinates of place i in [n][height][width], in 8 bits each.
DEV uint32_t path_split(uint32_t i, uint32_t height, uint32_t width) {
  const uint32_t row = i / width;
  return i % width | row % height << 8 | row / height << 16;
}

// path_from returns the Path of a thread that starts at a place and goes `step` places at a time.
DEV Path path_from(uint32_t start, uint32_t step, uint32_t height, uint32_t width) {
  return {height, width, path_split(start, height, width), path_split(step, height, width)};
}

// walk returns the Walk along a Path, at its start.
DEV Walk walk(const Path &p) {
  const uint32_t at = kept(p.start), by = kept(p.step);
  return {at >> 16 & 0xff, at >> 8 & 0xff, at & 0xff, by >> 16, by >> 8 & 0xff, by & 0xff, p.height, p.width};
}

// walk_on goes one step.
DEV void walk_on(Walk &w) {
  w.c += w.dc, w.r += w.dr, w.n += w.dn;
  if (w.c >= w.width) w.c -= w.width, w.r++;
  if (w.r >= w.height) w.r -= w.height, w.n++;
}

// conv_clear writes zeros into shared memory, four words at a time.
DEV void conv_clear(uint32_t *at, uint32_t words, uint32_t threads) {
  for (uint32_t i = threadIdx.x; i < words / 4; i += threads) write_vector(at + 4 * i, uint4{0, 0, 0, 0});
}

// conv_piece returns how many words of a pixel of x are copied at once: four, two or one. `per` is the channels of a
// word.
DEV uint32_t conv_piece(const ConvArgs &a, uint32_t per) {
  return a.pixel % (4 * per) == 0 ? 4 : a.pixel % (2 * per) == 0 ? 2 : 1;
}

// ConvColumns are the columns of a patch that are copied: so many, behind those that are skipped since they lie beside
// every image. Where some are skipped, the patch is cleared at the start.
struct ConvColumns {
  uint32_t count, skip;
};

// conv_columns returns those of a patch of x: if the rows of a patch are whole, those of the image.
DEV ConvColumns conv_columns(const ConvArgs &a) {
  const ConvTile &t = a.tile;
  if (t.strips > 1) return {t.width, 0};
  const uint32_t room = t.width - a.pad;
  return {a.W < room ? a.W : room, a.pad};
}

// conv_lane returns where this thread copies in a patch: the column, the piece of its pixels, the first row, and the
// step from row to row, 8 bits each. The thread keeps this word from unit to unit, and divides no more. If a row has
// more pieces than a block has threads, the thread goes on with other columns.
DEV uint32_t conv_lane(uint32_t columns, uint32_t pieces, uint32_t threads) {
  const uint32_t thread = kept(threadIdx.x), all = columns * pieces;
  const uint32_t step = all < threads ? kept(threads) / kept(all) : 1, e = thread % all;
  const uint32_t row = thread / all;  // those from `step` on are left over
  return e / pieces | e % pieces << 8 | (row < step ? row : 0xff) << 16 | step << 24;
}

// conv_copy_pixels calls copy(to, at, channel, image, column) for each piece of a patch that the thread copies, a piece
// being so many words or channels, and all pieces of a pixel pixel_channels: `to` is its place in the patch, `at` its
// first element in x [B,H,W,pixel], `channel` its first channel. image: its row is in the image; the column may be
// beside it, and is then large as unsigned.
template <uint32_t THREADS, class Copy>
DEV void conv_copy_pixels(uint32_t *patch, const ConvArgs &a, uint32_t lane, const ConvColumns &over,
                          const ConvPlace &first, uint32_t pixel_channels, uint32_t words, uint32_t channels, Copy copy) {
  const ConvTile &t = a.tile;
  lane = kept(lane);
  uint32_t column = (lane & 0xff) + over.skip, piece = lane >> 8 & 0xff;
  const uint32_t row = lane >> 16 & 0xff, step = lane >> 24;
  const uint32_t pieces = ceil_div(pixel_channels, channels), all = over.count * pieces;
  for (uint32_t e = kept(threadIdx.x);;) {
    const uint32_t x = first.j + column, channel = piece * channels;
    for (uint32_t n = 0; n < t.images; n++) {
      const uint32_t b = first.b + n;
      uint32_t *to = patch + ((n * t.height + row) * t.width + column) * t.pitch + piece * words;
      uint32_t y = first.i + row, at = ((b * a.H + y) * a.W + x) * a.pixel + channel;
      const uint32_t height = b < a.B ? a.H : 0;
#pragma unroll 1
      for (uint32_t r = row; r < t.height; r += step) {
        copy(to, at, channel, y < height, x);
        to += step * t.width * t.pitch, at += step * a.W * a.pixel, y += step;
      }
    }
    e += THREADS;
    if (e >= all) return;
    column = e / pieces + over.skip, piece = e % pieces;
  }
}

// conv_load_pixels copies [images][height][width] pixels of x into a patch, from pixel (i,j) of image b of `first` on,
// with zeros outside of the image. It only begins to copy, except in bf16 with an odd number of channels. The lane is
// that of the columns and of pieces of conv_piece words. So many channels are copied.
template <class P, uint32_t THREADS>
DEV void conv_load_pixels(uint32_t *patch, const typename P::act *x, const ConvArgs &a, uint32_t lane,
                          const ConvColumns &over, const ConvPlace &first, uint32_t channels) {
  constexpr uint32_t per = conv_per_word<P>;
  const uint32_t piece = conv_piece(a, per);
  if (piece == 4) {
    conv_copy_pixels<THREADS>(patch, a, lane, over, first, channels, 4, 4 * per,
                              [&](uint32_t *to, uint32_t at, uint32_t, bool image, uint32_t column) INLINE {
                                const bool inside = image && column < a.W;
                                cp_async16(smem_u32(to), x + (inside ? at : 0), inside);
                              });
  } else if (piece == 2) {
    conv_copy_pixels<THREADS>(patch, a, lane, over, first, channels, 2, 2 * per,
                              [&](uint32_t *to, uint32_t at, uint32_t, bool image, uint32_t column) INLINE {
                                const bool inside = image && column < a.W;
                                cp_async8(smem_u32(to), x + (inside ? at : 0), inside);
                              });
  } else {
    conv_copy_pixels<THREADS>(patch, a, lane, over, first, channels, 1, per,
                              [&](uint32_t *to, uint32_t at, uint32_t channel, bool image, uint32_t column) INLINE {
                                const bool inside = image && column < a.W;
                                const typename P::act *src = x + (inside ? at : 0);
                                if (a.pixel % per == 0) return cp_async4(smem_u32(to), src, inside);
                                uint32_t v = 0;
                                if (inside) {
                                  v = src[0];
                                  if (channel + 1 < a.C) v |= (uint32_t)src[1] << 16;
                                }
                                *to = v;
                              });
  }
}
