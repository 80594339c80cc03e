// How conv_backward_filter brings x, gy and arg of a unit to shared memory, for tensor cores.
#pragma once
#include "filter_multiply.cuh"

// filter_columns returns the columns of a patch that are copied. A pair of bf16 may have its second pixel in the image
// alone.
DEV ConvColumns filter_columns(const ConvArgs &a, bool pairs) {
  ConvColumns c = conv_columns(a);
  if (pairs && c.skip > 0) c.skip--, c.count++;
  return c;
}

// FilterShare is what a thread copies: its lane in the patch, and its first window of gy and arg and the step to the
// next, 8 bits each. Where x leaves some warps without work and they can copy gy and arg in the same time, they do so
// alone. No patch has a row 0xff, and no unit a window 0xff.
struct FilterShare {
  uint32_t lane, window;

  // of returns the share of a thread that copies pieces of so many channels.
  DEV FilterShare of(const ConvArgs &a, uint32_t channels, bool pairs) {
    const ConvTile &t = a.tile;
    const uint32_t columns = filter_columns(a, pairs).count, pieces = ceil_div(a.C, channels), thread = threadIdx.x;
    const uint32_t lane = conv_lane(columns, pieces, FILTER_THREADS), rows = lane >> 24;
    const uint32_t x = ceil_div(rows * columns * pieces, 32) * 32, idle = x < FILTER_THREADS ? FILTER_THREADS - x : 0;
    const bool apart = 8 * t.windows * rows <= idle * t.images * t.height;
    const uint32_t start = apart ? x : 0, place = (thread - start) / 32 * 4 + thread % 4;
    return {lane, (thread < start ? 0xff : place) | (apart ? idle : FILTER_THREADS) / 8 << 8};
  }
};

// filter_copy_pixels is conv_copy_pixels of those columns of a patch.
template <uint32_t WORDS, uint32_t CHANNELS, class Copy>
DEV void filter_copy_pixels(uint32_t *patch, const ConvArgs &a, uint32_t lane, const ConvPlace &first, Copy copy) {
  if ((kept(lane) >> 16 & 0xff) >= a.tile.height) return;
  conv_copy_pixels<FILTER_THREADS>(patch, a, lane, filter_columns(a, false), first, a.C, WORDS, CHANNELS, copy);
}

// filter_load_words fills a patch with so many words at once, each a float, or for ldmatrix two channels.
template <class P, uint32_t WORDS, uint32_t CHANNELS>
DEV void filter_load_words(uint32_t *patch, const typename P::act *x, const ConvArgs &a, uint32_t lane,
                           const ConvPlace &first) {
  filter_copy_pixels<WORDS, CHANNELS>(patch, a, lane, first,
                                      [&](uint32_t *to, uint32_t at, uint32_t, bool image, uint32_t j) INLINE {
                                        const bool inside = image && j < a.W;
                                        const typename P::act *from = x + (inside ? at : 0);
                                        if constexpr (WORDS == 4) cp_async16(smem_u32(to), from, inside);
                                        else if constexpr (WORDS == 2) cp_async8(smem_u32(to), from, inside);
                                        else cp_async4(smem_u32(to), from, inside);
                                      });
}

// FilterPair is so many channels of a pixel and of the one to its right, WORDS / 2 words each, or one channel each.
template <uint32_t WORDS> struct FilterPair {
  uint2 left, right;

  DEV FilterPair read(const uint16_t *left, const uint16_t *right) {
    if constexpr (WORDS == 4) return {read_vector<uint2>(left), read_vector<uint2>(right)};
    else return {{*left, 0}, {*right, 0}};
  }
  DEV FilterPair arrived(const FilterPair &v) {
    if constexpr (WORDS == 4) return {{kept(v.left.x), kept(v.left.y)}, {kept(v.right.x), kept(v.right.y)}};
    else return {{kept(v.left.x), 0}, {kept(v.right.x), 0}};
  }
  // write writes the words of those pixels that are there.
  DEV void write(uint32_t *to, const FilterPair &v, bool left, bool right) {
    const uint2 lo = {left ? v.left.x : 0, left ? v.left.y : 0}, hi = {right ? v.right.x : 0, right ? v.right.y : 0};
    if constexpr (WORDS == 4)
      write_vector(to, uint4{(lo.x & 0xffff) | hi.x << 16, lo.x >> 16 | (hi.x & 0xffff0000u),
                             (lo.y & 0xffff) | hi.y << 16, lo.y >> 16 | (hi.y & 0xffff0000u)});
    else *to = lo.x | hi.x << 16;
  }
};

// filter_load_pairs fills a patch with pairs of bf16: word (i,j,c) has x at (i,j,c) and at (i,j+1,c). It reads a batch
// of rows before it writes the first.
template <uint32_t WORDS, uint32_t BATCH>
DEV void filter_load_pairs(uint32_t *patch, const uint16_t *x, const ConvArgs &a, uint32_t lane,
                           const ConvPlace &first) {
  typedef FilterPair<WORDS> Pair;
  const ConvTile &t = a.tile;
  const ConvColumns over = filter_columns(a, true);
  lane = kept(lane);
  uint32_t column = (lane & 0xff) + over.skip, piece = lane >> 8 & 0xff;
  const uint32_t row = lane >> 16 & 0xff, step = lane >> 24, pieces = ceil_div(a.C, WORDS);
  for (uint32_t e = kept(threadIdx.x); row < t.height;) {
    const uint32_t j = first.j + column;  // -1 is beyond every image
    const bool left = j < a.W, right = j + 1 < a.W;
    for (uint32_t n = 0; n < t.images; n++) {
      const uint32_t b = first.b + n, height = b < a.B ? a.H : 0;
      uint32_t *to = patch + ((n * t.height + row) * t.width + column) * t.pitch + piece * WORDS;
      uint32_t y = first.i + row, at = ((b * a.H + y) * a.W + j) * a.pixel + piece * WORDS;
      const uint32_t stride = step * a.W * a.pixel, to_stride = step * t.width * t.pitch;
#pragma unroll 1
      for (uint32_t r = row; r < t.height; r += step, y += step, at += stride, to += to_stride) {
        // The last row stands for those behind it: no branch may part the reads. kept: the batch needs the registers
        // that multiples of strides would take.
        Pair v[BATCH];
        uint32_t next = r, line = y;
#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++) {
          const bool image = line < height, more = i + 1 < BATCH && next + step < t.height;
          v[i] = Pair::read(x + kept(image && left ? at : 0), x + kept(image && right ? at + a.pixel : 0));
          next += more ? step : 0, line = kept(line + (more ? step : 0)), at = kept(at + (more ? stride : 0));
        }
#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++)  // else clang would read each where it is written
          v[i] = Pair::arrived(v[i]);
#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++) {
          const bool image = y < height, more = i + 1 < BATCH && r + step < t.height;
          Pair::write(to, v[i], image && left, image && right);
          r += more ? step : 0, y = kept(y + (more ? step : 0)), to += more ? to_stride : 0;
        }
      }
    }
    e += FILTER_THREADS;
    if (e >= over.count * pieces) return;
    column = e / pieces + over.skip, piece = e % pieces;
  }
}

// filter_piece returns how many channels filter_load copies at once.
template <class P, FilterKind KIND> DEV uint32_t filter_piece(const ConvArgs &a) {
  if constexpr (filter_matrix<P, KIND>) return 8;
  return a.pixel % 4 == 0 ? 4 : conv_per_word<P> == 1 && a.pixel % 2 == 0 ? 2 : 1;
}

// filter_load fills a patch from pixel (i,j) of image b of `first` on, with zeros outside of the image. Columns beside
// every image are not written.
template <class P, FilterKind KIND, int TILES>
DEV void filter_load(uint32_t *patch, const typename P::act *x, const ConvArgs &a, uint32_t lane,
                     const ConvPlace &first) {
  const uint32_t piece = filter_piece<P, KIND>(a);
  if constexpr (filter_matrix<P, KIND>) {
    filter_load_words<P, 4, 8>(patch, x, a, lane, first);
  } else if constexpr (conv_per_word<P> == 2) {
    constexpr uint32_t BATCH = TILES == 1 ? 4 : 2;  // as many as there are registers for
    if (piece == 4) filter_load_pairs<4, BATCH>(patch, x, a, lane, first);
    else filter_load_pairs<1, 2>(patch, x, a, lane, first);
  } else {
    if (piece == 4) filter_load_words<P, 4, 4>(patch, x, a, lane, first);
    else if (piece == 2) filter_load_words<P, 2, 2>(patch, x, a, lane, first);
    else filter_load_words<P, 1, 1>(patch, x, a, lane, first);
  }
}

// filter_windows fills a table of the windows of a unit: where the first pixel of a window lies in a patch, in bytes.
// The windows that make the last step whole are not there, and lie at 0.
DEV void filter_windows(uint32_t *pixel, const ConvArgs &a) {
  const ConvTile &t = a.tile;
  for (uint32_t v = kept(threadIdx.x); v < t.windows; v += FILTER_THREADS) {
    const uint32_t line = v / t.columns, c = v % t.columns, n = line / t.rows, r = line % t.rows;
    pixel[v] = n < t.images ? 4 * (((n * t.height + 2 * r) * t.width + 2 * c) * t.pitch) : 0;
  }
}

// filter_copy_gradient begins to copy gy and arg of a unit, of images before `end`; it writes zeros for windows and
// outputs that do not exist. A thread copies four outputs. Windows are neighbours in memory: those of a row, and if the
// rows of a unit are whole, all its windows.
template <class P>
DEV void filter_copy_gradient(uint32_t *raw, const ConvArgs &a, uint32_t window, const ConvPlace &p, uint32_t end,
                              uint32_t o) {
  typedef FilterRaw<P> R;
  typedef typename P::act act;
  const ConvTile &t = a.tile;
  window = kept(window);
  const uint32_t first = window & 0xff, step = window >> 8, O = kept(a.O), quad = kept(threadIdx.x) % 32 / 4;
  if (first >= t.windows) return;
  o = kept(o) + 4 * quad;
  const size_t slot = (size_t)kept(blockIdx.y) * (a.B * a.HP * a.WP * O);
  const act *gy = static_cast<const act *>(a.gy) + slot;
  const uint8_t *arg = a.arg + slot;
  const uint32_t lines = t.strips == 1 ? 1 : t.rows, left = a.WP - p.j, below = a.HP - p.i, behind = end - p.b;
  const uint32_t columns = t.columns < left ? t.columns : left, rows = t.rows < below ? t.rows : below;
  const uint32_t all = (t.images < behind ? t.images : behind) * rows * columns;  // several images have all their rows
  for (uint32_t line = 0; line < lines; line++) {
    const uint32_t there = o >= O ? 0 : t.strips == 1 ? all : line < rows ? columns : 0;
    const uint32_t count = line + 1 < lines ? t.columns : t.windows - line * t.columns;
    uint32_t at = ((p.b * a.HP + p.i + line) * a.WP + p.j + first) * O + o;
    uint32_t *to = raw + (line * t.columns + first) * R::WORDS;
    uint32_t *to_gy = to + quad * (4 / conv_per_word<P>), *to_arg = to + R::GY + quad;
#pragma unroll 1
    for (uint32_t v = first; v < count; v += step, at += step * O) {
      const bool inside = v < there;
      const uint32_t from = inside ? at : 0;
      if (O % 4 == 0) {
        if constexpr (conv_per_word<P> == 2) cp_async8(smem_u32(to_gy), gy + from, inside);
        else cp_async16(smem_u32(to_gy), gy + from, inside);
        cp_async4(smem_u32(to_arg), arg + from, inside);
      } else {
#pragma unroll
        for (uint32_t c = 0; c < 4; c++) {
          const bool real = inside && o + c < O;
          reinterpret_cast<act *>(to_gy)[c] = real ? gy[from + c] : act(0);
          reinterpret_cast<uint8_t *>(to_arg)[c] = real ? arg[from + c] : 0;
        }
      }
      to_gy += step * R::WORDS, to_arg += step * R::WORDS;
    }
  }
}
