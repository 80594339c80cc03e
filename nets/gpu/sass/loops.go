package sass

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// loop is the machine code of a loop that the sources name: of the innermost loop with products in it.
type loop struct {
	name     string // as in the PTX: "multiply 64x64"
	code     []Instruction
	products int // multiply-adds of the tensor cores or, without these, of the ordinary cores, per warp and turn
}

// region is a stretch of the PTX: lines from first to last.
type region struct{ first, last int }

func (r region) has(line int) bool { return r.first <= line && line <= r.last }

var (
	entry     = regexp.MustCompile(`\.entry (\w+)\(`)
	marker    = regexp.MustCompile(`^\s*// loop (\S.*\S)\s*$`)
	ptxLabel  = regexp.MustCompile(`^(\$L__BB\w+):`)
	ptxBranch = regexp.MustCompile(`\bbra(?:\.uni)?\s+(\$L__BB\w+);`)
)

// namedLoops returns for each kernel of a PTX where its named loops are. A name stands for several loops if clang has
// copied one.
func namedLoops(ptx string) map[string]map[string][]region {
	type mark struct {
		name string
		line int
	}
	all := map[string]map[string][]region{}
	var kernel string
	var labels map[string]int
	var loops []region
	var marks []mark
	finish := func() {
		for _, m := range marks {
			inside := slices.DeleteFunc(slices.Clone(loops), func(r region) bool { return !r.has(m.line) })
			if len(inside) == 0 {
				inside = []region{{1, 0}} // no loop, so no lines: nothing will be found
			}
			innermost := slices.MinFunc(inside, func(a, b region) int {
				return cmp.Compare(a.last-a.first, b.last-b.first)
			})
			if found := all[kernel][m.name]; !slices.Contains(found, innermost) {
				all[kernel][m.name] = append(found, innermost)
			}
		}
	}
	for i, l := range strings.Split(ptx, "\n") {
		if m := entry.FindStringSubmatch(l); m != nil {
			finish()
			kernel, labels, loops, marks = m[1], map[string]int{}, nil, nil
			all[kernel] = map[string][]region{}
		} else if m := marker.FindStringSubmatch(l); m != nil {
			marks = append(marks, mark{m[1], i + 1})
		} else if m := ptxLabel.FindStringSubmatch(l); m != nil {
			labels[m[1]] = i + 1
		} else if m := ptxBranch.FindStringSubmatch(l); m != nil && labels[m[1]] > 0 {
			first := labels[m[1]] // a loop with several ways back ends at the last one
			loops = slices.DeleteFunc(loops, func(r region) bool { return r.first == first })
			loops = append(loops, region{first, i + 1})
		}
	}
	finish()
	return all
}

// loops returns the named loops of a kernel, in the order of their names. It is an error if a loop is not found.
func (k *Kernel) loops() ([]loop, error) {
	var inner []region // innermost loops of the machine code with products: indices
	for i, instruction := range k.Code {
		if t := instruction.Target; t >= 0 && t <= i && instruction.Is("BRA") && products(k.Code[t:i+1]) > 0 {
			inner = slices.DeleteFunc(inner, func(r region) bool { return t == r.first }) // a loop with two ways back
			if !slices.ContainsFunc(inner, func(r region) bool { return t <= r.first }) {
				inner = append(inner, region{t, i})
			}
		}
	}
	var found []loop
	for name, regions := range k.named {
		for _, r := range regions {
			best := loop{name: name}
			for _, at := range inner {
				code := k.Code[at.first : at.last+1]
				if n := products(code); n > best.products && comesFrom(code, r) {
					best.code, best.products = code, n
				}
			}
			if best.products == 0 {
				return nil, fmt.Errorf("sass: %s: loop %q is not in the machine code", k.Name, name)
			}
			found = append(found, best)
		}
	}
	slices.SortStableFunc(found, func(a, b loop) int { return cmp.Compare(a.name, b.name) })
	return found, nil
}

// products counts the multiply-adds of a loop.
func products(code []Instruction) int {
	if n := count(code, func(i Instruction) bool { return i.Is("HMMA") }); n > 0 {
		return n
	}
	return count(code, func(i Instruction) bool { return i.Is("FFMA") }) +
		2*count(code, func(i Instruction) bool { return i.Is("FFMA2") })
}

// comesFrom reports whether the products of a loop come from lines of a region.
func comesFrom(code []Instruction, r region) bool {
	return slices.ContainsFunc(code, func(i Instruction) bool {
		return i.Is("HMMA", "FFMA", "FFMA2") && r.has(i.Line)
	})
}
