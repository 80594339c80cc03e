package tiles

import "rollcall/nets/cpu/kernels/bf16/permit"

// native reports whether the processor has AMX and this process may use it.
func native() bool {
	ok, _ := permit.AMX()
	return ok
}
