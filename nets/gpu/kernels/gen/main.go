// Command gen compiles the CUDA kernels of package kernels to PTX: every X.cu to ptx/X.ptx. Run it in the folder of the
// package; `make kernels` does.
//
// The PTX is committed, so that building the program needs no CUDA compiler. With -check nothing is written: the
// command fails if a kernel does not compile, keeps variables in local memory, or differs from the committed PTX.
// Another release of clang may choose other instructions; then gen compiles, does not compare, and says so.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	compiler = "clang-19" // unless the environment variable CLANG names another
	want     = "19.1.7"   // the release that made the committed PTX
	folder   = "ptx"
)

// flags turn contraction off, so that a multiply-add is fused where the source says so and nowhere else, on the card as
// in the emulator. They make addresses in shared memory 32 bits wide, which halves their registers and instructions.
var flags = []string{
	"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "--cuda-feature=+ptx78", "-nocudainc", "-nocudalib",
	"-S", "-O3", "-std=c++17", "-ffp-contract=off", "-Wall", "-Werror",
	"-fcuda-short-ptr", "-mllvm", "-nvptx-short-ptr",
}

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(args []string, stderr io.Writer) int {
	set := flag.NewFlagSet("gen", flag.ContinueOnError)
	set.SetOutput(stderr)
	check := set.Bool("check", false, "compare with the PTX there is; write nothing")
	if err := set.Parse(args); err != nil {
		return 2
	}
	if err := generate(*check, stderr); err != nil {
		fmt.Fprintln(stderr, "gen:", err)
		return 1
	}
	return 0
}

func generate(check bool, stderr io.Writer) error {
	clang := os.Getenv("CLANG")
	if clang == "" {
		clang = compiler
	}
	release, err := version(clang)
	if err != nil {
		return err
	}
	if release != want && !check {
		return fmt.Errorf("%s is release %s, want %s, which the PTX is made by", clang, release, want)
	}
	if release != want {
		fmt.Fprintf(stderr, "gen: %s is release %s, not %s: the kernels are compiled, but not compared\n",
			clang, release, want)
	}
	sources, err := filepath.Glob("*.cu")
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		return errors.New("no .cu file here, want the folder of the kernels")
	}
	if !check {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	kept := map[string]bool{}
	var faults []error
	for _, source := range sources {
		name := filepath.Join(folder, strings.TrimSuffix(source, ".cu")+".ptx")
		kept[name] = true
		ptx, err := compile(clang, source)
		switch {
		case err != nil:
			faults = append(faults, err)
		case !check:
			faults = append(faults, os.WriteFile(name, ptx, 0o644))
		case release == want:
			if old, err := os.ReadFile(name); err != nil || !bytes.Equal(old, ptx) {
				faults = append(faults, fmt.Errorf("%s: not what %s compiles to: make kernels", name, source))
			}
		}
	}
	old, err := filepath.Glob(filepath.Join(folder, "*.ptx"))
	if err != nil {
		return err
	}
	for _, name := range old {
		switch {
		case kept[name]:
		case check:
			faults = append(faults, fmt.Errorf("%s: without a source: make kernels", name))
		default:
			faults = append(faults, os.Remove(name))
		}
	}
	return errors.Join(faults...)
}

var releaseLine = regexp.MustCompile(`clang version (\d+\.\d+\.\d+)`)

// version returns the release of a compiler: 19.1.7, for example.
func version(clang string) (string, error) {
	out, err := exec.Command(clang, "--version").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is not here: apt-get install --no-install-recommends %s", clang, compiler)
	}
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", clang, err)
	}
	m := releaseLine.FindSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("%s --version: %.40q, want a release of clang", clang, out)
	}
	return string(m[1]), nil
}

// compile returns the PTX of a source, with a first line that names the source and the compiler.
func compile(clang, source string) ([]byte, error) {
	var out, text bytes.Buffer
	cmd := exec.Command(clang, append(flags, "-o", "-", source)...)
	cmd.Stdout, cmd.Stderr = &out, &text
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", source, err, text.Bytes())
	}
	ptx := append(fmt.Appendf(nil, "// %s, compiled by clang %s. Do not edit: make kernels.\n",
		source, want), out.Bytes()...)
	return ptx, inRegisters(source, ptx)
}

// inRegisters returns an error if the PTX keeps a variable in local memory, which is as slow as device memory. Most of
// the time such a variable is an array whose index is known at run time only.
func inRegisters(source string, ptx []byte) error {
	for i, line := range bytes.Split(ptx, []byte("\n")) {
		if bytes.Contains(line, []byte("__local_depot")) || bytes.Contains(line, []byte(".local")) {
			return fmt.Errorf("%s: PTX line %d: %s: local memory, want registers alone",
				source, i+1, bytes.TrimSpace(line))
		}
	}
	return nil
}
