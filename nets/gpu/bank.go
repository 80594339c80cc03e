//go:build gpu && linux && cgo

package gpu

import (
	"errors"
	"fmt"
	"math"

	"rollcall/nets"
	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/kernels"
)

// bank is an array [rows,P] of parameters on the device. [layout] says how a row is laid out.
type bank struct {
	engine *Engine
	base   driver.Ptr
	rows   int
}

// Rows implements [nets.Bank].
func (b *bank) Rows() int { return b.rows }

// Free implements [nets.Bank].
func (b *bank) Free() {
	if b.base == 0 {
		return
	}
	e, base := b.engine, b.base
	b.base, b.rows = 0, 0
	_ = e.do(func() error { // does nothing after Close, which has freed all banks
		delete(e.banks, b)
		return e.device.Free(base)
	})
}

func (e *Engine) rowBytes() int64 { return int64(e.layout.P) * 4 }

// NewBank implements [nets.Engine]. All elements are 0. If memory is short, the arena of the waves is given back first;
// the next round then finds a smaller one.
func (e *Engine) NewBank(rows int) (nets.Bank, error) {
	if rows < 0 || int64(rows) > math.MaxInt64/2/e.rowBytes() {
		return nil, fmt.Errorf("gpu: bank of %d rows × %d parameters", rows, e.model.P)
	}
	b := &bank{engine: e, rows: rows}
	if rows == 0 {
		return b, nil
	}
	return b, e.do(func() error {
		bytes := int64(rows) * e.rowBytes()
		var err error
		if b.base, err = e.device.Alloc(bytes); errors.Is(err, driver.ErrOutOfMemory) {
			if err := e.dropArena(); err != nil {
				return err
			}
			b.base, err = e.device.Alloc(bytes)
		}
		if err != nil {
			return fmt.Errorf("gpu: bank of %d rows × %d parameters (%s): %w", rows, e.model.P, driver.Size(bytes), err)
		}
		e.banks[b] = true
		return e.stream.Memset32(b.base, 0, bytes/4)
	})
}

// row returns the device address of a row; what names the caller in errors.
func (e *Engine) row(what string, r nets.Row) (driver.Ptr, error) {
	b, ok := r.Bank.(*bank)
	if !ok || b.engine != e {
		return 0, fmt.Errorf("gpu: %s: row of bank %T, want one of this engine", what, r.Bank)
	}
	if r.Index < 0 || r.Index >= b.rows {
		return 0, fmt.Errorf("gpu: %s: row %d, want 0 … %d", what, r.Index, b.rows-1)
	}
	return b.base + driver.Ptr(int64(r.Index)*e.rowBytes()), nil
}

// Load implements [nets.Engine]. It converts w from PyTorch's order and layout to the row's.
func (e *Engine) Load(r nets.Row, w []float32) error {
	at, err := e.row("load", r)
	if err != nil {
		return err
	}
	if len(w) != e.model.P {
		return fmt.Errorf("gpu: load: %d parameters, want %d", len(w), e.model.P)
	}
	dense, row := make([]float32, e.model.P), make([]float32, e.layout.P)
	e.model.FromTorch(dense, w)
	e.layout.spread(row, dense)
	return e.do(func() error { return e.device.CopyToDevice(at, driver.Bytes(row)) })
}

// Store implements [nets.Engine]. It converts the row to PyTorch's order and layout.
func (e *Engine) Store(r nets.Row, w []float32) error {
	at, err := e.row("store", r)
	if err != nil {
		return err
	}
	if len(w) != e.model.P {
		return fmt.Errorf("gpu: store: %d parameters, want %d", len(w), e.model.P)
	}
	row, dense := make([]float32, e.layout.P), make([]float32, e.model.P)
	if err := e.do(func() error { return e.device.CopyFromDevice(driver.Bytes(row), at) }); err != nil {
		return err
	}
	e.layout.gather(dense, row)
	e.model.ToTorch(w, dense)
	return nil
}

// Dot implements [nets.Engine]. The running statistics lie behind the weights, so that they are left out. Products are
// added first within blocks of elements, then block by block.
func (e *Engine) Dot(a, b nets.Row) (float64, error) {
	x, err := e.row("dot", a)
	if err != nil {
		return 0, err
	}
	y, err := e.row("dot", b)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	err = e.do(func() error {
		a := kernels.DotArgs{X: uint64(x), Y: uint64(y), N: uint32(e.layout.trained)}
		s, err := e.scratch(8 * kernels.Partials(a.N))
		if err != nil {
			return err
		}
		a.Partial = uint64(s.device)
		if err := inTurn(
			func() error { return e.launchAlone("dot", a.Launch(), argBytes(a)) },
			func() error { return e.stream.CopyFromDevice(s.host, s.device) },
			e.stream.Synchronize,
		); err != nil {
			return err
		}
		for _, v := range driver.View[float64](s.host) {
			sum += v
		}
		return nil
	})
	return sum, err
}

// Combine implements [nets.Engine]. It queues the work and does not wait for it.
func (e *Engine) Combine(dst nets.Row, c []float64, src []nets.Row) error {
	return e.combineRange("combine", dst, c, src, 0, e.layout.trained)
}

// CombineBuffers implements [nets.Engine]. It queues the work and does not wait for it.
func (e *Engine) CombineBuffers(dst nets.Row, c []float64, src []nets.Row) error {
	return e.combineRange("combine buffers", dst, c, src, e.layout.trained, e.layout.P)
}

// combineRange combines the elements lo … hi−1 of rows. what is the operation, for errors. The addresses and
// coefficients of the terms travel through scratch memory, since a kernel's parameters hold only a few.
func (e *Engine) combineRange(what string, dst nets.Row, c []float64, src []nets.Row, lo, hi int) error {
	if len(c) != len(src) {
		return fmt.Errorf("gpu: %s: %d coefficients for %d rows", what, len(c), len(src))
	}
	start := driver.Ptr(4 * lo)
	to, err := e.row(what, dst)
	if err != nil {
		return err
	}
	from := make([]uint64, len(src))
	for i, r := range src {
		at, err := e.row(what, r)
		if err != nil {
			return err
		}
		from[i] = uint64(at + start)
	}
	if lo == hi {
		return nil
	}
	return e.do(func() error {
		s, err := e.scratch(max(1, 12*len(c)))
		if err != nil {
			return err
		}
		copy(driver.View[uint64](s.host[:8*len(c)]), from)
		coefficients := driver.View[float32](s.host[8*len(c) : 12*len(c)])
		for i, v := range c {
			coefficients[i] = float32(v)
		}
		if len(c) > 0 {
			if err := e.stream.CopyToDevice(s.device, s.host); err != nil {
				return err
			}
		}
		a := kernels.CombineArgs{
			Dst: uint64(to + start), Src: uint64(s.device), C: uint64(s.device) + uint64(8*len(c)),
			Terms: uint32(len(c)), P: uint32(hi - lo),
		}
		return e.launchAlone("combine", a.Launch(), argBytes(a))
	})
}
