package emulator

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// These patterns match preprocessed sources, which have no comments: the text that __global__ of emulator.h becomes,
// the definition or declaration of a kernel, and a line marker of the preprocessor.
var (
	globalMark       = regexp.MustCompile(`__attribute__\s*\(\(\s*used,\s*noinline\s*\)\)`)
	kernelDefinition = regexp.MustCompile(`extern\s+"C"\s+` + globalMark.String() + `\s+void\s+(\w+)\s*\(`)
	lineMarker       = regexp.MustCompile(`(?m)^#.*$`)
)

// kernelNames returns the names of the kernels of a preprocessed .cu file, in order, with the kernels that macros
// define.
func kernelNames(file string, preprocessed []byte) ([]string, error) {
	text := lineMarker.ReplaceAll(preprocessed, nil)
	var names []string
	found := kernelDefinition.FindAllSubmatch(text, -1)
	for _, m := range found {
		if name := string(m[1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if marks := len(globalMark.FindAll(text, -1)); marks != len(found) {
		return nil, fmt.Errorf("emulator: %s: %d times __global__, %d of them as "+
			`extern "C" __global__ void name(const Args a)`, file, marks, len(found))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("emulator: %s: no kernel", file)
	}
	return names, nil
}

// registration returns C++ that registers kernels. It follows their definitions.
func registration(names []string) []byte {
	var b bytes.Buffer
	b.WriteString("\n# 1 \"registration\"\n")
	for _, name := range names {
		fmt.Fprintf(&b, "static const emu::Entry<%s> emu_entry_%s(%q);\n", name, name, strings.TrimSpace(name))
	}
	return b.Bytes()
}
