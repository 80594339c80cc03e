package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// main writes the assembly into the folder that -dir names; without -dir, into the current one.
func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run writes every family of kernels once per instruction set, and returns the exit status.
func run(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", ".", "folder the .s files go to")
	if flags.Parse(args) != nil {
		return 2
	}
	// Each family of kernels is one function here and one file per instruction set.
	vectors := []family{
		{"gemm", gemm},
		{"product", product},
		{"round", round},
		{"transpose", transpose},
		{"pool", pool},
		{"sparse", sparse},
		{"pixels", pixels},
		{"rows", rows},
		{"norm", norm},
		{"flat", flat},
		{"gather", gather},
		{"prefetch", prefetch},
		{"masks", masks},
		{"softmax", softmax},
		{"peak", peak},
		{"winograd", winograd},
	}
	narrow := []family{
		{"product", productTiles},
		{"round", roundNarrow},
		{"pack", packNarrow},
		{"transpose", transposeNarrow},
		{"unpool", unpoolNarrow},
		{"state", state},
	}
	for _, set := range []struct {
		isa
		families []family
	}{
		{avx2, append(vectors, family{"winners", winners})},
		{avx512, vectors},
		{dots, []family{{"product", product}, {"pairs", pairs}, {"peak", peak}}},
		{amx, narrow},
	} {
		for _, part := range set.families {
			name := fmt.Sprintf("%s_%s_amd64.s", part.name, set.name)
			if err := write(filepath.Join(*dir, name), set.isa, part.emit); err != nil {
				fmt.Fprintf(stderr, "gen: %s: %v\n", name, err)
				return 1
			}
		}
	}
	return 0
}

// family is the kernels of one file, and its name.
type family struct {
	name string
	emit func(*asm)
}

// highRegister matches the vector registers that only AVX-512 has; avo does not know which set it writes for.
var highRegister = regexp.MustCompile(`\b[XYZ](1[6-9]|2\d|3[01])\b`)

// write writes one file: the kernels that emit adds, for one instruction set. It is an error if AVX2 code uses a
// register that only AVX-512 has.
func write(path string, set isa, emit func(*asm)) error {
	a := &asm{Context: build.NewContext(), isa: set}
	a.ConstraintExpr("amd64")
	emit(a)
	file, err := a.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	if err := encode(file); err != nil {
		return err
	}
	text, err := printer.NewGoAsm(printer.Config{Name: "nets/cpu/kernels/gen", Pkg: "asm"}).Print(file)
	if err != nil {
		return err
	}
	// avo would use registers 16 to 31 in AVX2 code as well, when it needs more than 16.
	if set == avx2 {
		if r := highRegister.Find(text); r != nil {
			return fmt.Errorf("register %s, AVX2 has 0 to 15", r)
		}
	}
	return os.WriteFile(path, text, 0o644)
}
