package ops

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"rollcall/nets/cpu/kernels"
)

func dtypeOf[T kernels.Float]() tensor.Dtype {
	if _, ok := any(T(0)).(float32); ok {
		return tensor.Float32
	}
	return tensor.Float64
}

// base is the part that all ops share: the executor, the output buffer, and the methods that Gorgonia's machine calls
// to learn about an op.
type base[T kernels.Float] struct {
	exec *kernels.Exec[T]
	name string // includes every parameter, since ops of equal hash are taken for one op
	in   []hm.Type
	wrt  []bool       // of which inputs there is a gradient
	to   tensor.Shape // shape of the output
	out  *tensor.Dense
	buf  []T // the elements of out

	absent int // elements in front of a vector of gradients that are nowhere, see [BatchNorm.SymDiff]
}

// newBase returns the base of an op with the given output shape and inputs. wrt says of which inputs the op has a
// gradient; it is nil for an op without any.
func newBase[T kernels.Float](
	exec *kernels.Exec[T], name string, wrt []bool, out tensor.Shape, in ...*G.Node,
) base[T] {
	b := base[T]{exec: exec, name: name, wrt: wrt, to: out.Clone()}
	for _, n := range in {
		b.in = append(b.in, n.Type())
	}
	return b
}

func (b *base[T]) Arity() int           { return len(b.in) }
func (b *base[T]) DiffWRT(int) []bool   { return b.wrt }
func (b *base[T]) ReturnsPtr() bool     { return false } // true would let the machine overwrite the output buffer
func (b *base[T]) CallsExtern() bool    { return false } // true would make the machine allocate before every call
func (b *base[T]) OverwritesInput() int { return -1 }
func (b *base[T]) String() string       { return b.name }
func (b *base[T]) WriteHash(h hash.Hash) {
	_, _ = fmt.Fprintf(h, "rollcall %s -> %v", b.name, b.to)
}

func (b *base[T]) Hashcode() uint32 {
	h := fnv.New32a()
	b.WriteHash(h)
	return h.Sum32()
}

func (b *base[T]) Type() hm.Type {
	var out hm.Type = dtypeOf[T]()
	if len(b.to) > 0 {
		out = G.TensorType{Dims: len(b.to), Of: dtypeOf[T]()}
	}
	return hm.NewFnType(append(append([]hm.Type(nil), b.in...), out)...)
}

func (b *base[T]) InferShape(...G.DimSizer) (tensor.Shape, error) { return b.to.Clone(), nil }

// output returns the output buffer of the op. The first call allocates it, filled with zeros.
func (b *base[T]) output() []T {
	if b.out == nil {
		b.buf = make([]T, b.size())
		shape := b.to
		if b.absent > 0 {
			shape = tensor.Shape{b.size()}
		}
		b.out = tensor.New(tensor.WithShape(shape...), tensor.WithBacking(b.buf))
	}
	return b.buf
}

// values sets each to[i] to the elements of in[i].
func (b *base[T]) values(in []G.Value, to ...*[]T) error {
	for i, p := range to {
		data, ok := elements[T](in[i])
		if !ok {
			return fmt.Errorf("ops: %s: input %d holds %T, want %T", b.name, i, in[i].Data(), *p)
		}
		*p = data
	}
	return nil
}

// ints returns the elements of an input of integers. what begins the error, for example "labels hold".
func (b *base[T]) ints(in G.Value, what string) ([]int32, error) {
	x, ok := elements[int32](in)
	if !ok {
		return nil, fmt.Errorf("ops: %s: %s %T, want []int32", b.name, what, in.Data())
	}
	return x, nil
}

// view returns the elements of the only input from offset on, in the output shape of the op, without copying.
func (b *base[T]) view(in []G.Value, offset int) (G.Value, error) {
	var x []T
	if err := b.values(in, &x); err != nil {
		return nil, err
	}
	if b.out == nil || &b.buf[0] != &x[offset] {
		n := b.to.TotalSize()
		b.buf = x[offset : offset+n : offset+n]
		b.out = tensor.New(tensor.WithShape(b.to...), tensor.WithBacking(b.buf))
	}
	return b.out, nil
}

// elements returns the elements of a tensor; ok is false if they are not of type E. It exists because the method Data
// of [G.Value] makes the slice by reflection, which allocates in every call.
func elements[E float32 | float64 | int32](v G.Value) (x []E, ok bool) {
	t, ok := v.(*tensor.Dense)
	if !ok {
		return nil, false
	}
	switch p := any(&x).(type) {
	case *[]float32:
		if ok = t.Dtype() == tensor.Float32; ok {
			*p = t.Float32s()
		}
	case *[]float64:
		if ok = t.Dtype() == tensor.Float64; ok {
			*p = t.Float64s()
		}
	case *[]int32:
		if ok = t.Dtype() == tensor.Int32; ok {
			*p = t.Int32s()
		}
	}
	return x, ok
}

// scalar returns the value of a Gorgonia scalar; ok is false if it is not a T.
func scalar[T kernels.Float](v G.Value) (x T, ok bool) {
	switch v := v.(type) {
	case *G.F32:
		_, ok = any(x).(float32)
		return T(*v), ok
	case *G.F64:
		_, ok = any(x).(float64)
		return T(*v), ok
	}
	x, ok = v.Data().(T)
	return x, ok
}

// shapes returns the shapes of nodes. It is an error if their first dimensions differ: every node has K clients.
func shapes(op string, in ...*G.Node) ([]tensor.Shape, error) {
	s := make([]tensor.Shape, len(in))
	for i, n := range in {
		s[i] = n.Shape()
		if s[i].Dims() == 0 || s[i][0] != s[0][0] {
			return nil, fmt.Errorf("ops: %s: shapes %v and %v disagree on K", op, s[0], s[i])
		}
	}
	return s, nil
}

// Inputs returns the nodes that a node reads, in the order of its op.
func Inputs(n *G.Node) (in G.Nodes) {
	for it := n.Graph().From(n.ID()); it.Next(); {
		in = append(in, it.Node().(*G.Node))
	}
	return in
}
