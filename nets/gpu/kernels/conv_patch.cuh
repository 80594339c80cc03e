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

// path_beside returns the Path of a thread through places that consist of pieces: the threads of a block stand side by
// side, and each has the same piece of every place, number path_piece. Threads that are left over have no place. With
// a pitch of 20 words, of which 16 are written, two neighbours would meet in some banks: then places that are half the
// places of a warp apart stand side by side.
DEV Path path_beside(uint32_t pieces, uint32_t threads, uint32_t height, uint32_t width, uint32_t pitch) {
  uint32_t thread = kept(threadIdx.x);
  const uint32_t all = kept(threads), beside = pieces < all ? pieces : all, step = all / beside;
  if (pitch == 20 && beside < 32 && (beside & (beside - 1)) == 0) {
    const uint32_t lane = thread % 32, place = lane & ~(beside - 1);
    thread += (lane & beside ? 16 - beside / 2 : 0) - place / 2;
  }
  const uint32_t start = thread / beside;
  Path p = path_from(start, step, height, width);
  if (start >= step) p.start = 0xff0000;
  p.start |= thread % beside << 24;
  return p;
}
DEV uint32_t path_piece(const Path &p) { return kept(p.start) >> 24; }

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

// conv_path returns the Path of this thread through the pixels of a patch, in pieces of so many channels.
DEV Path conv_path(const ConvArgs &a, uint32_t threads, uint32_t channels, uint32_t pitch = 0) {
  return path_beside(ceil_div(a.C, channels), threads, a.tile.height, a.tile.width, pitch);
}

// conv_copy_pixels calls copy(to, at, channel, image, column) for each piece of a patch that the thread copies, a piece
// being so many words: `to` is its place in the patch, `at` its first element in x [B,H,W,pixel], `channel` its first
// channel. image: its row is in the image; the column may be beside it, and is then large as unsigned.
template <uint32_t WORDS, class Copy>
DEV void conv_copy_pixels(uint32_t *patch, const ConvArgs &a, const Path &path, const ConvPlace &first, uint32_t threads,
                          uint32_t per, Copy copy) {
  const ConvTile &t = a.tile;
#pragma unroll 1
  for (uint32_t channel = path_piece(path) * WORDS * per; channel < a.C; channel += threads * WORDS * per) {
#pragma unroll 1
    for (Walk w = walk(path); w.n < t.images; walk_on(w)) {
      const uint32_t row = first.i + w.r, column = first.j + w.c, b = first.b + w.n;
      copy(patch + ((w.n * t.height + w.r) * t.width + w.c) * t.pitch + channel / per,
           ((b * a.H + row) * a.W + column) * a.pixel + channel, channel, row < a.H && b < a.B, column);
    }
  }
}

// conv_load_pixels copies [images][height][width] pixels of x into a patch, from pixel (i,j) of image b of `first` on,
// with zeros outside of the image. It only begins to copy, except in bf16 with an odd number of channels.
template <class P>
DEV void conv_load_pixels(uint32_t *patch, const typename P::act *x, const ConvArgs &a, const Path &path,
                          const ConvPlace &first, uint32_t threads) {
  constexpr uint32_t per = conv_per_word<P>;
  const uint32_t piece = conv_piece(a, per);
  if (piece == 4) {
    conv_copy_pixels<4>(patch, a, path, first, threads, per,
                        [&](uint32_t *to, uint32_t at, uint32_t, bool image, uint32_t column) INLINE {
                          const bool inside = image && column < a.W;
                          cp_async16(smem_u32(to), x + (inside ? at : 0), inside);
                        });
  } else if (piece == 2) {
    conv_copy_pixels<2>(patch, a, path, first, threads, per,
                        [&](uint32_t *to, uint32_t at, uint32_t, bool image, uint32_t column) INLINE {
                          const bool inside = image && column < a.W;
                          cp_async8(smem_u32(to), x + (inside ? at : 0), inside);
                        });
  } else {
    conv_copy_pixels<1>(patch, a, path, first, threads, per,
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
