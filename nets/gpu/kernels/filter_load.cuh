// How conv_backward_filter brings x, gy and arg of a unit to shared memory, for tensor cores.
#pragma once
#include "filter_multiply.cuh"

// filter_place returns the lane of a thread that copies pieces of so many channels.
DEV uint32_t filter_place(const ConvArgs &a, uint32_t channels) {
  return conv_lane(a.tile.width, ceil_div(a.C, channels), FILTER_THREADS);
}

// filter_copy_pixels is conv_copy_pixels of all columns of a patch.
template <uint32_t WORDS, uint32_t CHANNELS, class Copy>
DEV void filter_copy_pixels(uint32_t *patch, const ConvArgs &a, uint32_t place, const ConvPlace &first, Copy copy) {
  conv_copy_pixels<FILTER_THREADS>(patch, a, place, {a.tile.width, 0}, first, WORDS, CHANNELS, copy);
}

// filter_load_words fills a patch with so many words at once, each a float, or for ldmatrix two channels.
template <class P, uint32_t WORDS, uint32_t CHANNELS>
DEV void filter_load_words(uint32_t *patch, const typename P::act *x, const ConvArgs &a, uint32_t place,
                           const ConvPlace &first) {
  filter_copy_pixels<WORDS, CHANNELS>(patch, a, place, first,
                                      [&](uint32_t *to, uint32_t at, uint32_t, bool image, uint32_t j) INLINE {
                                        const bool inside = image && j < a.W;
                                        const typename P::act *from = x + (inside ? at : 0);
                                        if constexpr (WORDS == 4) cp_async16(smem_u32(to), from, inside);
                                        else if constexpr (WORDS == 2) cp_async8(smem_u32(to), from, inside);
                                        else cp_async4(smem_u32(to), from, inside);
                                      });
}

// filter_load_pairs fills a patch with pairs of bf16: word (i,j,c) has x at (i,j,c) and at (i,j+1,c).
template <uint32_t WORDS>
DEV void filter_load_pairs(uint32_t *patch, const uint16_t *x, const ConvArgs &a, uint32_t place,
                           const ConvPlace &first) {
  filter_copy_pixels<WORDS, WORDS>(
      patch, a, place, first, [&](uint32_t *to, uint32_t at, uint32_t, bool image, uint32_t j) INLINE {
        const bool left = image && j < a.W, right = image && j + 1 < a.W;
        if constexpr (WORDS == 4) {
          uint2 lo = {0, 0}, hi = {0, 0};
          if (left) lo = read_vector<uint2>(x + at);
          if (right) hi = read_vector<uint2>(x + (at + a.pixel));
          write_vector(to, uint4{(lo.x & 0xffff) | hi.x << 16, lo.x >> 16 | (hi.x & 0xffff0000u),
                                 (lo.y & 0xffff) | hi.y << 16, lo.y >> 16 | (hi.y & 0xffff0000u)});
        } else {
          *to = (left ? x[at] : 0) | (right ? (uint32_t)x[at + a.pixel] : 0) << 16;
        }
      });
}

// filter_piece returns how many channels filter_load copies at once.
template <class P, FilterKind KIND> DEV uint32_t filter_piece(const ConvArgs &a) {
  if constexpr (filter_matrix<P, KIND>) return 8;
  return a.pixel % 4 == 0 ? 4 : conv_per_word<P> == 1 && a.pixel % 2 == 0 ? 2 : 1;
}

// filter_load fills a patch from pixel (i,j) of image b of `first` on, with zeros outside of the image.
template <class P, FilterKind KIND>
DEV void filter_load(uint32_t *patch, const typename P::act *x, const ConvArgs &a, uint32_t place,
                     const ConvPlace &first) {
  const uint32_t piece = filter_piece<P, KIND>(a);
  if constexpr (filter_matrix<P, KIND>) {
    filter_load_words<P, 4, 8>(patch, x, a, place, first);
  } else if constexpr (conv_per_word<P> == 2) {
    if (piece == 4) filter_load_pairs<4>(patch, x, a, place, first);
    else filter_load_pairs<1>(patch, x, a, place, first);
  } else {
    if (piece == 4) filter_load_words<P, 4, 4>(patch, x, a, place, first);
    else if (piece == 2) filter_load_words<P, 2, 2>(patch, x, a, place, first);
    else filter_load_words<P, 1, 1>(patch, x, a, place, first);
  }
}

// FilterWindow says where a window of a unit lies: its image, row and column in the unit, 9 bits each with a free bit
// above, and its first element in gy, both from the first window on.
struct FilterWindow {
  static constexpr uint32_t LIMIT = 0x1ff, FREE = 1u << 9 | 1u << 19 | 1u << 29, WORDS = 2;

  DEV uint32_t pack(uint32_t n, uint32_t r, uint32_t c) { return n << 20 | r << 10 | c; }
  // bound returns a word from which every place with all coordinates below (n,r,c) can be subtracted, and no other,
  // without borrowing from a bit of FREE.
  DEV uint32_t bound(uint32_t n, uint32_t r, uint32_t c) {
    const uint32_t i = (n < LIMIT ? n : LIMIT) - 1, j = (r < LIMIT ? r : LIMIT) - 1, k = (c < LIMIT ? c : LIMIT) - 1;
    return pack(i, j, k) | FREE;
  }
  DEV bool below(uint32_t place, uint32_t bound) { return ((bound - place) & FREE) == FREE; }
};

// filter_windows fills two tables of the windows of a unit: FilterWindow, and where the first pixel of a window lies in
// a patch, in bytes. The windows that make the last step whole are below no bound.
DEV void filter_windows(uint32_t *window, uint32_t *pixel, const ConvArgs &a) {
  const ConvTile &t = a.tile;
  for (uint32_t v = kept(threadIdx.x); v < t.windows; v += FILTER_THREADS) {
    const uint32_t line = v / t.columns, c = v % t.columns, n = line / t.rows, r = line % t.rows;
    const bool there = n < t.images;
    const uint32_t place = there ? FilterWindow::pack(n, r, c) : FilterWindow::pack(511, 511, 511);
    write_vector(window + v * FilterWindow::WORDS, uint2{place, ((n * a.HP + r) * a.WP + c) * a.O});
    pixel[v] = there ? 4 * (((n * t.height + 2 * r) * t.width + 2 * c) * t.pitch) : 0;
  }
}

// filter_copy_gradient begins to copy gy and arg of a unit, of images before `end`; it writes zeros for windows and
// outputs that do not exist. A thread copies four outputs.
template <class P>
DEV void filter_copy_gradient(uint32_t *raw, const uint32_t *window, const ConvArgs &a, const ConvPlace &p,
                              uint32_t end, uint32_t o) {
  typedef FilterRaw<P> R;
  typedef typename P::act act;
  const uint32_t O = kept(a.O), thread = kept(threadIdx.x);
  const uint32_t quad = thread % 32 / 4, first = thread / 32 * 4 + thread % 4;
  o = kept(o) + 4 * quad;
  const uint32_t bound = o < O ? FilterWindow::bound(end - p.b, a.HP - p.i, a.WP - p.j) : 0;
  const size_t from = (size_t)kept(blockIdx.y) * (a.B * a.HP * a.WP * O) + (((p.b * a.HP + p.i) * a.WP + p.j) * O + o);
  const act *gy = static_cast<const act *>(a.gy) + from;
  const uint8_t *arg = a.arg + from;
  uint32_t *to = raw + first * R::WORDS;
  for (uint32_t v = first; v < a.tile.windows; v += FILTER_THREADS / 8, to += FILTER_THREADS / 8 * R::WORDS) {
    const uint2 w = read_vector<uint2>(window + v * FilterWindow::WORDS);
    const bool inside = o < O && FilterWindow::below(w.x, bound);
    const uint32_t at = inside ? w.y : 0;
    uint32_t *to_gy = to + quad * (4 / conv_per_word<P>), *to_arg = to + R::GY + quad;
    if (O % 4 == 0) {
      if constexpr (conv_per_word<P> == 2) cp_async8(smem_u32(to_gy), gy + at, inside);
      else cp_async16(smem_u32(to_gy), gy + at, inside);
      cp_async4(smem_u32(to_arg), arg + at, inside);
    } else {
#pragma unroll
      for (uint32_t c = 0; c < 4; c++) {
        const bool real = inside && o + c < O;
        reinterpret_cast<act *>(to_gy)[c] = real ? gy[at + c] : act(0);
        reinterpret_cast<uint8_t *>(to_arg)[c] = real ? arg[at + c] : 0;
      }
    }
  }
}
