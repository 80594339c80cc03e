package kernels

// Gather cuts the rows of the overlap into groups of pixels. It reads groupLanes bytes from the start of every group,
// so plain Go does the last row of an image with nothing behind it in memory.
func (c *code) Gather(dst []float32, img []uint8, n *Normal[float32], crop Crop) {
	g := &n.group
	o, ok := crop.overlap()
	if !ok || n.scalar || o.cols < g.pixels {
		generic[float32]{}.Gather(dst, img, n, crop)
		return
	}
	n.check(dst, img, &crop)
	if o.cols == crop.W && crop.Border == 0 && !crop.Flip { // rows without a gap are one row
		o.cols, o.rows = o.rows*o.cols, 1
	}
	first := clearAround(dst, &crop, &o)

	stride, row, group := crop.stride(), crop.W*crop.C, g.pixels*crop.C
	begin := o.imgRow*row + o.imgCol*crop.C
	last := begin + (o.cols-g.pixels)*crop.C
	rows := o.rows
	if last+(rows-1)*row+groupLanes > len(img) {
		rows--
		at := begin + rows*row
		n.row(dst[first+rows*stride:][:o.cols*crop.C], img[at:][:o.cols*crop.C], crop.Flip)
	}
	if rows == 0 {
		return
	}
	dstLast := first + (o.cols-g.pixels)*crop.C
	shuffle, step := &g.straight, group
	if crop.Flip {
		begin, last = last, begin
		shuffle, step = &g.flipped, -group
	}
	c.gather(&dst[first], &dst[dstLast], &img[begin], &img[last], &shuffle[0], &g.mean[0],
		rows, (o.cols+g.pixels-1)/g.pixels, 4*group, step, 4*stride, row, group, crop.Ahead)
}
