package ptx

const matrixRowBytes = 16 // 8 elements of 16 bits

// loadMatrix decodes ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16 {r0, r1, r2, r3}, [rows].
func (d *decoder) loadMatrix() (action, error) {
	trans := d.Opcode == "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
	if !trans && d.Opcode != "ldmatrix.sync.aligned.m8n8.x4.shared.b16" {
		return nil, errUnknown
	}
	if err := d.count(2); err != nil {
		return nil, err
	}
	to, err := d.registersOf(d.operands[0], 4, types["b32"])
	if err != nil {
		return nil, err
	}
	base, narrow, offset, err := d.pointer(d.operands[1], shared)
	return func(w *warp, mask uint32) {
		if mask != all {
			w.fail(^mask, "is not in the warp's ldmatrix: only the lanes %08x are", mask)
			return
		}
		w.locate(base, narrow, offset)
		w.traffic(shared, mask, matrixRowBytes, false)
		var rows [warpLanes][]byte
		for l := range rows {
			if rows[l] = w.bytesAt(shared, l, w.addresses[l], matrixRowBytes); rows[l] == nil {
				return
			}
		}
		for m, r := range to {
			for l := range warpLanes {
				var v uint64
				for i := range 2 {
					row, column := matrixElement(l, i, trans)
					v |= read(rows[8*m+row][2*column:][:2]) << (16 * i)
				}
				w.registers[r][l] = v
			}
		}
	}, err
}
