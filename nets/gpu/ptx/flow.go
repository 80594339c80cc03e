package ptx

import "errors"

// link finds, for every branch, where the lanes that part there meet again: at its immediate post-dominator, the first
// instruction that every way from the branch to the end of the kernel passes.
func (k *Kernel) link() error {
	n := len(k.steps)
	if n == 0 || k.steps[n-1].kind != exit && (k.steps[n-1].kind != branch || k.steps[n-1].guard >= 0) {
		return errors.New("the code runs past its end")
	}
	f := newFlow(k.steps)
	f.solve()
	for b, next := range f.first[1:] {
		s := &k.steps[next-1] // the last one of block b
		if s.kind != branch {
			continue
		}
		s.join = n // the end of the kernel
		if d := f.dominator[b]; d >= 0 {
			s.join = f.first[d]
		}
	}
	return nil
}

// flow is the graph of a kernel's basic blocks. The last block is the end of the kernel, which has no instruction.
type flow struct {
	first     []int   // the first instruction of each block; of the last one, the number of instructions
	next      [][]int // the blocks that may follow each
	previous  [][]int
	dominator []int // the immediate post-dominator of each; −1: the end cannot be reached
	order     []int // the place of each in order of return from the end; −1: as above
	reverse   []int // the blocks, the end first
}

func newFlow(steps []step) *flow {
	starts := make([]bool, len(steps)+1)
	starts[0] = true
	for i, s := range steps {
		if s.kind == branch {
			starts[s.target] = true
		}
		if s.kind == branch || s.kind == exit {
			starts[i+1] = true
		}
	}
	f := &flow{}
	blockOf := make([]int, len(steps)+1)
	starts[len(steps)] = true
	for i := range starts {
		if starts[i] {
			f.first = append(f.first, i)
		}
		blockOf[i] = len(f.first) - 1
	}
	end := len(f.first) - 1
	f.next, f.previous = make([][]int, end+1), make([][]int, end+1)
	for b := range end {
		last := f.first[b+1] - 1
		s := steps[last]
		switch s.kind {
		case exit:
			f.edge(b, end)
		case branch:
			f.edge(b, blockOf[s.target])
		}
		if s.kind != branch && s.kind != exit || s.guard >= 0 {
			f.edge(b, blockOf[last+1])
		}
	}
	return f
}

func (f *flow) edge(from, to int) {
	f.next[from] = append(f.next[from], to)
	f.previous[to] = append(f.previous[to], from)
}

// solve finds the immediate post-dominators, by Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm", on
// the graph with its edges turned round.
func (f *flow) solve() {
	n := len(f.first)
	f.dominator, f.order = make([]int, n), make([]int, n)
	for b := range n {
		f.dominator[b], f.order[b] = -1, -1
	}
	f.visit(n-1, make([]bool, n))
	for changed := true; changed; {
		changed = false
		for i := len(f.reverse) - 1; i >= 0; i-- {
			b := f.reverse[i]
			if b == n-1 {
				f.dominator[b] = b
				continue
			}
			d := -1
			for _, s := range f.next[b] {
				switch {
				case f.dominator[s] < 0:
				case d < 0:
					d = s
				default:
					d = f.meet(d, s)
				}
			}
			if d != f.dominator[b] {
				f.dominator[b], changed = d, true
			}
		}
	}
}

// visit numbers the blocks from which b can be reached, b last.
func (f *flow) visit(b int, seen []bool) {
	seen[b] = true
	for _, p := range f.previous[b] {
		if !seen[p] {
			f.visit(p, seen)
		}
	}
	f.order[b] = len(f.reverse)
	f.reverse = append(f.reverse, b)
}

// meet returns the first common post-dominator of two blocks.
func (f *flow) meet(a, b int) int {
	for a != b {
		for f.order[a] < f.order[b] {
			a = f.dominator[a]
		}
		for f.order[b] < f.order[a] {
			b = f.dominator[b]
		}
	}
	return a
}
