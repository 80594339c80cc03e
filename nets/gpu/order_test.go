package gpu

import (
	"fmt"
	"slices"
	"testing"

	"rollcall/internal/must"
	"rollcall/nets/models"
)

// Launches wait for the last writer of what they read, and for writers and readers of what they write, once.
func TestOrder(t *testing.T) {
	a, b, c := &buffer{name: "a"}, &buffer{name: "b"}, &buffer{name: "c"}
	o := orderOf([]access{
		0: {nil, buffers{a}},
		1: {buffers{a}, buffers{b}},
		2: {buffers{a}, buffers{c}},    // beside 1
		3: {buffers{a, b}, buffers{b}}, // in place; 0 has ended when 1 has
		4: {buffers{b, c}, nil},
		5: {nil, buffers{a}}, // the readers of a: 1 has ended when 3 has
		6: {buffers{a}, buffers{c}},
	})
	want := [][]int{nil, {0}, {0}, {1}, {3, 2}, {3, 2}, {5, 4}}
	if fmt.Sprint(o.waits) != fmt.Sprint(want) {
		t.Errorf("waits %v, want %v", o.waits, want)
	}
	if a, b := o.depth(7), o.depth(4); a != 5 || b != 3 { // 0, 1, 3, 4 and 6
		t.Errorf("%d launches in turn, and %d of the first four, want 5 and 3", a, b)
	}
	if !o.followsAll(6, []int{0, 1, 2, 3, 4, 5}) || o.followsAll(5, []int{4}) || o.followsAll(2, []int{1}) {
		t.Error("6 follows all others, 5 does not follow 4, nor 2 follow 1")
	}
}

// In every program of every net, two launches of which one writes what the other reads or writes wait for each other,
// in a step and from step to step, and no wait goes without saying.
func TestOrderOfPrograms(t *testing.T) {
	programs(t, 5, func(m *models.Model, precision Precision, key programKey, p *program) {
		what := fmt.Sprintf("%s %s %+v", m.Name, precision, key)
		n := len(p.launches)
		meet := func(a, b buffers) bool {
			return slices.ContainsFunc(a, func(x *buffer) bool { return slices.Contains(b, x) })
		}
		for i := range p.order.ended {
			u := p.launches[i%n].access
			for j := range i {
				v := p.launches[j%n].access
				if meet(u.writes, v.writes) || meet(u.writes, v.reads) || meet(u.reads, v.writes) {
					if !p.order.followsAll(i, []int{j}) {
						t.Errorf("%s: launch %d (%s) may run beside %d (%s), which it depends on",
							what, i, p.launches[i%n].kernel, j, p.launches[j%n].kernel)
					}
				}
			}
			for _, w := range p.order.waits[i] {
				for _, other := range p.order.waits[i] {
					if w != other && p.order.followsAll(other, []int{w}) {
						t.Errorf("%s: launch %d waits for %d and for %d, which waits for it", what, i, w, other)
					}
				}
			}
		}
	})
}

// The launches of a step that wait for each other in turn, at the most: every one of them costs the start of a kernel,
// which few clients notice.
func TestCriticalPath(t *testing.T) {
	for net, want := range map[string]int{"cnn-cifar10": 10, "cnn-svhn": 13, "cnn-cinic10": 22, "lenet5": 15} {
		m := must.Get(models.New(net))(t)
		p := must.Get(lower(m, newLayout(m), TF32, 128, true, false))(t)
		n := len(p.launches)
		if one, both := p.order.depth(n), p.order.depth(2*n); one > want || both > 2*want {
			t.Errorf("%s: %d of %d launches in turn in a step, and %d in two, want at most %d and %d",
				net, one, n, both, want, 2*want)
		}
	}
}

// depth returns how many of the first n launches wait for each other in turn, at the most.
func (o *order) depth(n int) (most int) {
	depth := make([]int, n)
	for i, waits := range o.waits[:n] {
		for _, n := range waits {
			depth[i] = max(depth[i], depth[n])
		}
		depth[i]++
		most = max(most, depth[i])
	}
	return most
}
