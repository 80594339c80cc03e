package kernels

import (
	"embed"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:generate go run ./gen

//go:embed ptx/*.ptx
var files embed.FS

// Module is the PTX of one .cu file. The driver compiles it for the card when it loads the module.
type Module struct {
	Name    string   // of the file, without ".cu"
	PTX     string   // for compute capability 8.0 and later
	Kernels []string // names, in the order of the text
}

var entry = regexp.MustCompile(`(?m)^\s*\.visible \.entry (\w+)\(`)

// Modules returns all modules in the order of their names.
func Modules() []Module { return modules() }

// modules reads the modules once.
var modules = sync.OnceValue(func() []Module {
	names, err := files.ReadDir("ptx")
	if err != nil {
		panic(err) // the directory is part of the program
	}
	var all []Module
	for _, f := range names {
		text, err := files.ReadFile(path.Join("ptx", f.Name()))
		if err != nil {
			panic(err)
		}
		m := Module{Name: strings.TrimSuffix(f.Name(), path.Ext(f.Name())), PTX: string(text)}
		for _, e := range entry.FindAllStringSubmatch(m.PTX, -1) {
			m.Kernels = append(m.Kernels, e[1])
		}
		all = append(all, m)
	}
	return all
})

// Only returns the module with the kernels of one precision, and those that have no precision: a driver compiles all
// kernels of the text it is given, and a run needs one precision. m has all its kernels.
func (m Module) Only(p Precision) Module {
	kept := Module{Name: m.Name}
	var text strings.Builder
	rest := m.PTX
	for _, kernel := range m.Kernels {
		start := strings.Index(rest, ".visible .entry "+kernel+"(")
		end := start + strings.Index(rest[start:], entryEnd) + len(entryEnd)
		if of := precisionOf(kernel); of == p || of == "" {
			kept.Kernels = append(kept.Kernels, kernel)
			text.WriteString(rest[:end])
		} else {
			text.WriteString(rest[:start]) // what kernels share may stand between them
		}
		rest = rest[end:]
	}
	kept.PTX = text.String() + rest
	return kept
}

// entryEnd ends a kernel in PTX: blocks within it are indented.
const entryEnd = "\n}\n"

// precisionOf returns the precision in the name of a kernel; "" if it has none.
func precisionOf(kernel string) Precision {
	for _, p := range []Precision{FP32, TF32, BF16} {
		if strings.HasSuffix(kernel, "_"+string(p)) {
			return p
		}
	}
	return ""
}

// Find returns the module that holds a kernel; ok is false if there is none.
func Find(kernel string) (m Module, ok bool) {
	for _, m := range modules() {
		if slices.Contains(m.Kernels, kernel) {
			return m, true
		}
	}
	return Module{}, false
}
