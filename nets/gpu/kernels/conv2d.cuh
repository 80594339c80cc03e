// What the kernels of convolutions without bias share: their arguments and tiles, and how windows are copied.
//
// A convolution is a tile product (gemm.cuh) whose matrix a has a window of the map, the pixels below all taps, in
// every row. The matrix is never written down: its elements are found while a stage is copied, and those outside of the
// map are 0.
//
// A window is known by where it begins (Window); its elements are in the order of taps r, s and channels c (Depth). If
// the depth of a stage divides the channels, they come in groups of a stage's depth, and every group goes through all
// taps before the next: what a block reads of the map for one tap, it reads for the next tap one pixel further, and so
// finds it in the first cache.
#pragma once
#include "gemm.cuh"
#include "work.cuh"

// The arguments of all three kernels.
//   y[k,b,i,j,o] = Σ w[k,r,s,c,o] x[k,b,U·i+r-pad,U·j+s-pad,c]
struct Conv2DArgs {
  const Work *work;
  const void *x;       // [K,B,H,W,C] act
  void *y;             // [K,B,OH,OW,O] act
  const void *gy;      // [K,B,OH,OW,O] act, gradient of y
  void *dx;            // [K,B,H,W,C] act
  float *dw;           // [K,chunks,R·S·C·O] sums over `images` images each; null: the one sum updates the weights
  uint32_t w_offset;   // of w [R,S,C,O] in a row
  uint32_t B, H, W, C, R, S, O;
  uint32_t U, pad;     // stride, and zeros around the map
  uint32_t OH, OW;     // OH = (H+2·pad-R)/U+1, OW likewise
  uint32_t images;     // of a chunk of dw
  uint32_t dw_stride;  // elements of dw from slot to slot
  uint32_t step, E;
};

// The tiles, by the columns of the product: at most 32, at most 64, more. A stage is 128 bytes deep, so that a block
// takes 60, 72 to 80, or 96 KB; two blocks on a multiprocessor of 228 KB leave it a first cache of 60 KB. A warp of
// 64×64 reads half as much for a product as one of 32×32, but has 128 sums per thread, for which fp32 has no registers:
// it takes 64×32. Where the rows are weights, 9·64 of them are 4½ tiles of 128, and few rows, as those of a first layer,
// have a tile of their own. With strides, windows overlap less, and many weights are moved for few pixels: a tall tile
// reads less from L2. Its block is alone on a multiprocessor and has a first cache of 150 KB. conv2d.go has the same
// sizes.
template <class P> constexpr int STAGE = 128 / (int)sizeof(typename P::act);
template <class P> using NarrowConv = Tile<128, 32, STAGE<P>, 32, 32, 1, 3>;
template <class P> using MiddleConv = Tile<128, 64, STAGE<P>, 64, 32, 1, 3>;
template <class P> struct Conv2DTiles {
  typedef NarrowConv<P> Narrow;
  typedef Tile<256, 64, STAGE<P>, 64, 64, 1, 2> Middle;        // rows of pixels
  typedef Tile<128, 64, STAGE<P>, 64, 64, 2, 3> MiddleFilter;  // rows of weights
  typedef Tile<32, 64, STAGE<P>, 32, 32, 2, 3> FewFilter;      // at most 32 rows of weights
  typedef Tile<128, 128, STAGE<P>, 64, 64, 1, 3> Wide;
  typedef Tile<256, 128, STAGE<P>, 64, 64, 1, 2> Tall;         // with strides, or of many weights
};
template <> struct Conv2DTiles<FP32> {
  typedef NarrowConv<FP32> Narrow;
  typedef MiddleConv<FP32> Middle, MiddleFilter, Wide;
};

// Window is where a window begins: the offset of its first element in the map, and its row and column in one number
// (both), so that one read fetches it. A row of the matrix behind the last window has one outside of the map.
struct alignas(8) Window {
  uint32_t at, ij;
};

// both returns a number of two fields, a row and a column. Fields are added and compared together; a field that is
// below 0 has its highest bit set, and takes 1 from the field above.
DEV uint32_t both(int32_t row, int32_t column) { return uint32_t(row) * 0x10000 + uint32_t(column); }

// inside returns whether both fields of ij are at least 0 and at most the fields of `last`.
DEV bool inside(uint32_t ij, uint32_t last) { return ((ij | (last - ij)) & 0x80008000u) == 0; }

constexpr int32_t NO_WINDOW = 0x4000; // -NO_WINDOW is the row of a window outside; Conv2DArgs.Fits keeps maps smaller

// Map is the maps of a slot, [images,H,W,C], without border.
template <class act_>
struct Map {
  const act_ *p;
  uint32_t H, W, C;
  bool chunks; // 16 bytes can be copied at once
};

template <class act>
DEV Map<act> map_of(const void *p, uint32_t k, uint32_t B, uint32_t H, uint32_t W, uint32_t C) {
  return {static_cast<const act *>(p) + size_t(k) * B * H * W * C, H, W, C, C * sizeof(act) % 16 == 0};
}

// Pixel is a pixel of [images,rows,columns].
struct Pixel {
  uint32_t image, i, j;
};

// pixel_at returns pixel n, and advance moves a Pixel on by as many as `by` lies behind pixel 0.
DEV Pixel pixel_at(uint32_t n, uint32_t rows, uint32_t columns) {
  const uint32_t line = n / columns;
  return {line / rows, line % rows, n % columns};
}

DEV void advance(Pixel &at, const Pixel &by, uint32_t rows, uint32_t columns) {
  at.image += by.image, at.i += by.i, at.j += by.j;
  if (at.j >= columns) at.j -= columns, at.i++;
  if (at.i >= rows) at.i -= rows, at.image++;
}

// window returns the window of a pixel of [images,rows,columns]: of (i,j), at row step·i + i0 and column step·j + j0 of
// the map.
template <class act>
DEV Window window(const Map<act> &x, const Pixel &of, uint32_t images, uint32_t step, int32_t i0, int32_t j0) {
  const int32_t i = int32_t(of.i * step) + i0, j = int32_t(of.j * step) + j0;
  if (of.image >= images) return {0, both(-NO_WINDOW, 0)};
  return {((of.image * x.H + i) * x.W + j) * x.C, both(i, j)};
}

// Spot is a place in the order of Depth: tap (r,s), channel first + c. Behind the last place, first is C or more.
struct Spot {
  uint32_t r, s, first, c;
};

// Depth is the order of a sum over R×S taps and C channels, in groups of channels.
struct Depth {
  uint32_t R, S, C, group;

  // in_stages returns the order of a sum that is cut in stages of so many elements.
  DEV Depth in_stages(uint32_t R, uint32_t S, uint32_t C, uint32_t stage) {
    return {R, S, C, C % stage == 0 ? stage : C};
  }
};

// spot_at returns place n in the order.
DEV Spot spot_at(const Depth &d, uint32_t n) {
  const uint32_t tap = n / d.group, line = tap / d.S;
  return {line % d.R, tap % d.S, line / d.R * d.group, n % d.group};
}

// advance moves a Spot `by` places on.
DEV void advance(Spot &at, const Depth &d, uint32_t by) {
#pragma unroll 1
  for (at.c += by; at.c >= d.group; at.c -= d.group) {
    if (++at.s < d.S) continue;
    at.s = 0;
    if (++at.r < d.R) continue;
    at.r = 0;
    at.first += d.group;
  }
}

// copy_element begins to copy element e of a chunk, or writes 0 if it is not valid.
template <class act>
DEV void copy_element(unsigned char *chunk, uint32_t e, const act *from, bool valid) {
  if constexpr (sizeof(act) == 4)
    cp_async4(smem_u32(chunk) + 4 * e, from, valid);
  else
    reinterpret_cast<act *>(chunk)[e] = valid ? *from : act(0);
}

// copy_windows begins to copy a stage of windows: of each, this thread's chunk, which is the channels from `at` on.
// windows(i) is the window of the i-th row that this thread copies. DIR is 1 if taps go forwards through the map, −1 if
// backwards. If the map has no chunks, every element of a chunk has a Spot of its own.
template <class O, int DIR, class Windows>
DEV void copy_windows(unsigned char *to, const Map<typename O::act> &x, const Depth &d, Spot at, Windows windows) {
  typedef typename O::act act;
  constexpr uint32_t STEP = O::THREADS / O::ROW_CHUNKS, PASSES = O::ROWS / STEP;
  const uint32_t row = threadIdx.x / O::ROW_CHUNKS, chunk = threadIdx.x % O::ROW_CHUNKS, shared = smem_u32(to),
                 place = kept(O::at(row, chunk));
  for (uint32_t e = 0;;) {
    const int32_t r = DIR * (int32_t)at.r, s = DIR * (int32_t)at.s;
    const act *from = x.p + ((r * (int32_t)x.W + s) * (int32_t)x.C + (int32_t)(at.first + at.c));
    const uint32_t tap = both(at.first < d.C ? r : 2 * NO_WINDOW, s), last = both(x.H - 1, x.W - 1); // below any map
    auto valid = [&](const Window &w) INLINE { return inside(w.ij + tap, last); };
    if (x.chunks) {
      Window w[PASSES]; // all are read before the first copy begins: no read is moved past one
#pragma unroll
      for (uint32_t i = 0; i < PASSES; i++) w[i] = windows(i);
#pragma unroll
      for (uint32_t i = 0; i < PASSES; i++)
        cp_async16_near(shared + O::beside(place, i * STEP, 0), from + (int32_t)w[i].at, valid(w[i]));
      return;
    }
#pragma unroll 1
    for (uint32_t i = 0; i < PASSES; i++) {
      const Window w = windows(i);
      copy_element(to + O::at(row + i * STEP, chunk), e, from + (int32_t)w.at, valid(w));
    }
    if (++e == O::CHUNK) return;
    advance(at, d, 1);
  }
}

// tile_of calls f with the narrowest tile that covers n columns, else with the widest, as a value of its type.
// pixelTile and filterTile of conv2d.go choose the same one.
template <class Tiles, class Middle, class F>
DEV void tile_of(uint32_t n, F f) {
  if (n <= Tiles::Narrow::BN)
    f(typename Tiles::Narrow{});
  else if (n <= Middle::BN || int(Middle::BN) == int(Tiles::Wide::BN))
    f(Middle{});
  else
    f(typename Tiles::Wide{});
}

// pixel_tile_of is tile_of for a product whose rows are pixels.
template <class P, class F>
DEV void pixel_tile_of(uint32_t n, uint32_t stride, F f) {
  typedef Conv2DTiles<P> Tiles;
  if constexpr (by_mma<P>) {
    if (n > Tiles::Middle::BN && stride > 1) return f(typename Tiles::Tall{});
  }
  tile_of<Tiles, typename Tiles::Middle>(n, f);
}
