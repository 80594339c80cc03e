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

// modules returns all modules in the order of their names.
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

// Find returns the module that holds a kernel; ok is false if there is none.
func Find(kernel string) (m Module, ok bool) {
	for _, m := range modules() {
		if slices.Contains(m.Kernels, kernel) {
			return m, true
		}
	}
	return Module{}, false
}
