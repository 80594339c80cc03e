package cpu

import (
	"fmt"
	"math"

	"rollcall/nets"
	"rollcall/nets/cpu/kernels"
)

// mappedBytes is from how many bytes on a bank in memory is mapped, where [MapsRows]. Go's heap would clear large ones
// page by page, and take all their memory, before the first row is used.
const mappedBytes = 1 << 20

// cpuBank is a bank of the CPU engine: rows of parameters in the order of the kernels.
type cpuBank struct {
	engine *Engine
	rows   int
	data   []float32 // [rows,P]
	free   func()    // of data; nil: the garbage collector does it
}

func (b *cpuBank) Rows() int { return b.rows }

func (b *cpuBank) Free() {
	if b.free != nil {
		b.free()
	}
	*b = cpuBank{engine: b.engine}
}

// NewBank implements [nets.Engine]. With [Options].RowsDir the rows are in a file, of which the system keeps in memory
// what there is room for: more rows than the memory holds, at the speed of the disk.
func (e *Engine) NewBank(rows int) (nets.Bank, error) {
	if rows < 0 || rows > math.MaxInt/4/max(1, e.model.P) {
		return nil, fmt.Errorf("nets: bank of %d rows × %d parameters", rows, e.model.P)
	}
	b := &cpuBank{engine: e, rows: rows}
	var err error
	if b.data, b.free, err = newRows(e.rowsDir, rows*e.model.P); err != nil {
		return nil, fmt.Errorf("nets: %d rows × %d parameters%s: %w", rows, e.model.P, e.rowsWhere(), err)
	}
	return b, nil
}

// rowsWhere returns where the rows are, for errors: nothing if they are in memory.
func (e *Engine) rowsWhere() string {
	if e.rowsDir == "" {
		return ""
	}
	return " in a file in " + e.rowsDir
}

// row returns the elements of r [P]. Errors begin with what, the operation that needs the row.
func (e *Engine) row(what string, r nets.Row) ([]float32, error) {
	b, ok := r.Bank.(*cpuBank)
	if !ok || b.engine != e {
		return nil, fmt.Errorf("nets: %s: row of bank %T, want one of this engine", what, r.Bank)
	}
	if r.Index < 0 || r.Index >= b.rows {
		return nil, fmt.Errorf("nets: %s: row %d, want 0 … %d", what, r.Index, b.rows-1)
	}
	p := e.model.P
	if e.rowsDir != "" {
		willNeed(b.data, r.Index*p, (r.Index+1)*p)
	}
	return b.data[r.Index*p : (r.Index+1)*p : (r.Index+1)*p], nil
}

// Load implements [nets.Engine].
func (e *Engine) Load(r nets.Row, w []float32) error {
	row, err := e.row("load", r)
	if err != nil {
		return err
	}
	if len(w) != len(row) {
		return fmt.Errorf("nets: load: %d parameters, want %d", len(w), len(row))
	}
	e.model.FromTorch(row, w)
	return nil
}

// Store implements [nets.Engine].
func (e *Engine) Store(r nets.Row, w []float32) error {
	row, err := e.row("store", r)
	if err != nil {
		return err
	}
	if len(w) != len(row) {
		return fmt.Errorf("nets: store: %d parameters, want %d", len(w), len(row))
	}
	e.model.ToTorch(w, row)
	return nil
}

// Dot implements [nets.Engine]. One thread adds, in the order of [kernels.Kernels].
func (e *Engine) Dot(a, b nets.Row) (float64, error) {
	x, err := e.row("dot", a)
	if err != nil {
		return 0, err
	}
	y, err := e.row("dot", b)
	if err != nil {
		return 0, err
	}
	return e.choice.Dot(x[:e.model.Trained], y[:e.model.Trained]), nil
}

// Combine implements [nets.Engine].
func (e *Engine) Combine(dst nets.Row, c []float64, src []nets.Row) error {
	return e.combineRange("combine", dst, c, src, 0, e.model.Trained)
}

// CombineBuffers implements [nets.Engine].
func (e *Engine) CombineBuffers(dst nets.Row, c []float64, src []nets.Row) error {
	return e.combineRange("combine buffers", dst, c, src, e.model.Trained, e.model.P)
}

// combineRange combines the elements lo … hi−1 of rows. what is the operation, for errors.
func (e *Engine) combineRange(what string, dst nets.Row, c []float64, src []nets.Row, lo, hi int) error {
	if len(c) != len(src) {
		return fmt.Errorf("nets: %s: %d coefficients for %d rows", what, len(c), len(src))
	}
	t := &e.combine
	t.c, t.src = c, t.src[:0]
	to, err := e.row(what, dst)
	if err != nil {
		return err
	}
	t.dst = to[lo:hi]
	for _, r := range src {
		row, err := e.row(what, r)
		if err != nil {
			return err
		}
		t.src = append(t.src, row[lo:hi])
	}
	e.pool.Enter()
	defer e.pool.Leave()
	e.exec.For(t, 0, (len(t.dst)+combineChunk-1)/combineChunk)
	t.dst, t.c = nil, nil
	clear(t.src) // so that the memory of a bank can be freed
	return nil
}

// combineTask adds rows in chunks: a chunk of the sum stays in the cache until all terms are added.
type combineTask struct {
	dst []float32
	c   []float64
	src [][]float32
}

// combineChunk is the number of elements per chunk, 16 KiB.
const combineChunk = 4096

// Chunk implements [kernels.Task].
func (t *combineTask) Chunk(_, i int, s *kernels.Scratch[float32]) {
	lo, hi := i*combineChunk, min((i+1)*combineChunk, len(t.dst))
	sum := s.Buf(combineChunk)[:hi-lo] // dst may be among src
	if len(t.src) == 0 {
		clear(sum)
	}
	for j, src := range t.src {
		if j == 0 {
			s.Scale(sum, float32(t.c[j]), src[lo:hi])
		} else {
			s.Axpy(sum, float32(t.c[j]), src[lo:hi])
		}
	}
	copy(t.dst[lo:hi], sum)
}
