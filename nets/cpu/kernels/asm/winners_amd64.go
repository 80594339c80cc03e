package asm

// PixelLists is where [PixelWinnersAVX2] writes, for the upper row of a map and for the lower. The offsets of the
// fields are repeated in gen/winners.go.
type PixelLists struct {
	Values [2]*float32
	Places [2]*int32
}

// PixelWinnersAVX2 lists the elements of two rows of a map that won their windows of a 2 × 2 pooling, pixel by pixel
// and then by channel: their gradients, and depth·(cols·pixel + channel) as their places. upper and lower get the
// number of entries up to each pixel. gy, arg [pixels,cols] are of the pooled row. It reads cols rounded up to 8 of
// every pixel, and writes up to 8 entries behind the lists. table[m] has the numbers of the bits of m in its bytes.
//
//go:noescape
func PixelWinnersAVX2(
	l *PixelLists, upper, lower *int32, gy *float32, arg *uint8, table *[256]uint64, pixels, cols, depth int,
)

// ChannelLists is where [ChannelWinnersAVX2] writes. Room is memory for TurnedBytes for every 8 pixels. The place of an
// entry is In[arg] + Columns[pixel%8] + Group[0]·(pixel/8).
type ChannelLists struct {
	Values             *float32
	Places             *int32
	Room               *byte
	In, Columns, Group [8]int32
}

// TurnedBytes is the memory for 8 turned pixels.
const TurnedBytes = 8*32 + 8*8

// ChannelWinnersAVX2 appends the elements of two rows of a map that won their windows to the list of their channel, the
// upper row before the lower: from entry stops[channel] on, which it moves. gy, arg [pixels,cols] are of the pooled
// row; it reads both rounded up to 8. left is cols. It writes up to 8 entries behind the lists.
//
//go:noescape
func ChannelWinnersAVX2(
	l *ChannelLists, stops *int32, gy *float32, arg *uint8, table *[256]uint64, pixels, cols, left int,
)

// NonZerosAVX2 lists the elements of rows of x that are not 0, in order: entries r·room … stops[r]−1 for row r, with
// step·column as their places. x [rows,n], ld elements from row to row; it reads n rounded up to 8 of every row, and
// writes up to 8 entries behind a list.
//
//go:noescape
func NonZerosAVX2(
	values *float32, places, stops *int32, x *float32, table *[256]uint64, rows, ld, n, room, step int,
)
