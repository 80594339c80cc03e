package asm

// Cut splits m rows into tiles of at most most rows each: tiles tiles of rows rows, then smaller tiles of one row less.
// Equal tiles are faster than full ones and a rest: 32 rows, at most 12 a tile, become 11, 11 and 10.
func Cut(m, most int) (rows, tiles, smaller int) {
	if m <= most {
		return m, 1, 0
	}
	n := (m + most - 1) / most
	rows = (m + n - 1) / n
	smaller = n*rows - m
	return rows, n - smaller, smaller
}
