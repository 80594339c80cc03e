package ptx

// wide are operations on a whole warp, written out for speed. The tests compare them with the functions.
var wide = map[string]func(d, a, b, c *lanes){
	"mov.f32": whole1,
}

func whole1(d, a, _, _ *lanes) { *d = *a }
