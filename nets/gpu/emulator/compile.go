package emulator

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/cpu"
)

// A compiler is g++ with its flags: with AddressSanitizer or without.
type compiler struct {
	path, version string
	flags         []string
	cache         string // folder of objects and libraries
	include       string // folder of the runtime's sources
	asan          bool
}

// A unit is one file to compile: its name, for messages, and its preprocessed text. The object depends on nothing but
// the text, the compiler and the flags.
type unit struct {
	name string
	text []byte
}

// newCompiler finds g++ and unpacks the runtime's sources.
func newCompiler(asan bool) (*compiler, error) {
	path, err := exec.LookPath("g++")
	if err != nil {
		return nil, fmt.Errorf("emulator: no g++ to build it with: %w", err)
	}
	version, err := exec.Command(path, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("emulator: g++ --version: %w", err)
	}
	cache, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	// prelude.cuh promises -ffp-contract=off: the compiler fuses no multiplication with an addition, and so AVX2 and
	// FMA change no result.
	flags := []string{
		"-std=c++17", "-g1", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno",
		"-fno-strict-aliasing", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Wno-psabi", "-DROLLCALL_EMULATOR",
	}
	if runtime.GOARCH == "amd64" && cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		flags = append(flags, "-mavx2", "-mfma")
	}
	if asan {
		flags = append(flags, "-O1", "-fno-omit-frame-pointer",
			"-fsanitize=address,alignment,bounds-strict", "-fno-sanitize-recover=all")
	} else {
		flags = append(flags, "-O2")
	}
	c := &compiler{path: path, version: firstLine(version), flags: flags, cache: cache, asan: asan}
	c.include, err = c.unpack()
	return c, err
}

// linkFlags returns the flags for linking. An undefined symbol is an error of the linker, and not of a later process
// that loads the library; except with AddressSanitizer, whose runtime the process provides.
func (c *compiler) linkFlags() []string {
	if c.asan {
		return c.flags
	}
	return append(c.flags[:len(c.flags):len(c.flags)], "-Wl,-z,defs")
}

// unpack writes the runtime's sources, which the program embeds, to a folder of the cache named by their hash. It
// returns the folder.
func (c *compiler) unpack() (string, error) {
	hash := sha256.New()
	entries, err := runtimeFiles.ReadDir("cpp")
	if err != nil {
		return "", fmt.Errorf("emulator: sources: %w", err)
	}
	texts := map[string][]byte{}
	for _, e := range entries {
		text, err := fs.ReadFile(runtimeFiles, "cpp/"+e.Name())
		if err != nil {
			return "", fmt.Errorf("emulator: sources: %w", err)
		}
		texts[e.Name()] = text
		fmt.Fprintln(hash, e.Name(), len(text))
		hash.Write(text)
	}
	dir := filepath.Join(c.cache, fmt.Sprintf("src-%x", hash.Sum(nil)[:8]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("emulator: sources: %w", err)
	}
	for name, text := range texts {
		err := c.keep(filepath.Join(dir, name), func(temporary string) error {
			return os.WriteFile(temporary, text, 0o644)
		})
		if err != nil {
			return "", err
		}
	}
	return dir, nil
}

// library returns the path of the library of a folder: under a hash of the compiler, the runtime, the sources of the
// folder, and what this package changes in them, shown by an example.
func (c *compiler) library(dir string) (string, error) {
	sources, err := filepath.Glob(filepath.Join(dir, "*.cu*"))
	if err != nil {
		return "", fmt.Errorf("emulator: %s: %w", dir, err)
	}
	hash := sha256.New()
	fmt.Fprintln(hash, c.version, c.flags, c.include)
	hash.Write(unrolled([]byte("#pragma unroll\n#pragma unroll 2\n")))
	hash.Write(registration([]string{"kernel"}))
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			return "", fmt.Errorf("emulator: %w", err)
		}
		fmt.Fprintln(hash, filepath.Base(source), len(text))
		hash.Write(text)
	}
	return filepath.Join(c.cache, fmt.Sprintf("libcuda-%x.so", hash.Sum(nil)[:12])), nil
}

// units preprocesses the runtime and the .cu files of a folder.
func (c *compiler) units(dir string) ([]unit, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("emulator: %w", err)
	}
	kernels, err := filepath.Glob(filepath.Join(dir, "*.cu"))
	if err != nil {
		return nil, fmt.Errorf("emulator: %s: %w", dir, err)
	}
	if len(kernels) == 0 {
		return nil, fmt.Errorf("emulator: %s: no .cu file", dir)
	}
	files, err := filepath.Glob(filepath.Join(c.include, "*.cpp"))
	if err != nil {
		return nil, fmt.Errorf("emulator: %s: %w", c.include, err)
	}
	return inParallel(append(files, kernels...), c.preprocess)
}

// preprocess preprocesses one file, from within its folder: the text must not say where the folder lies, or a copy of
// it would be compiled again. It appends the registration of the kernels to a .cu file.
func (c *compiler) preprocess(file string) (unit, error) {
	args := append([]string{"-E", "-x", "c++", "-fno-working-directory", "-I", c.include}, c.flags...)
	dir, name := filepath.Split(file)
	out, err := c.output("preprocess "+name, dir, append(args, name)...)
	if err != nil {
		return unit{}, err
	}
	u := unit{name: filepath.Base(file), text: out}
	if !c.asan {
		u.text = unrolled(out)
	}
	if filepath.Ext(file) == ".cu" {
		names, err := kernelNames(u.name, out)
		if err != nil {
			return unit{}, err
		}
		u.text = append(u.text, registration(names)...)
	}
	return u, nil
}

var (
	unrollBy  = regexp.MustCompile(`(?m)^(\s*)#pragma unroll (\d+)$`)
	unrollAll = regexp.MustCompile(`(?m)^(\s*)#pragma unroll$`)
)

// unrolled returns preprocessed text in which clang's pragma for unrolled loops is g++'s. Without it the sums of a
// tile, which the kernels mean to be registers, lie in memory: fp32 products then take three times as long. No result
// changes.
func unrolled(text []byte) []byte {
	text = unrollBy.ReplaceAll(text, []byte("$1#pragma GCC unroll $2"))
	return unrollAll.ReplaceAll(text, []byte("$1#pragma GCC unroll 64"))
}

// object returns the path of a unit's object. It compiles the unit if the cache lacks the object.
func (c *compiler) object(u unit) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, c.version, c.flags)
	hash.Write(u.text)
	path := filepath.Join(c.cache, fmt.Sprintf("%s-%x.o",
		strings.TrimSuffix(u.name, filepath.Ext(u.name)), hash.Sum(nil)[:12]))
	return path, c.keep(path, func(temporary string) error {
		source := temporary + ".ii"
		if err := os.WriteFile(source, u.text, 0o644); err != nil {
			return fmt.Errorf("emulator: %s: %w", u.name, err)
		}
		defer os.Remove(source)
		return c.run("compile "+u.name,
			append(append([]string{"-c", "-o", temporary, "-fpreprocessed", "-x", "c++"}, c.flags...), source)...)
	})
}

// keep makes a file of the cache, unless it exists: it calls write with a temporary path in the same folder and renames
// the result, so that several processes may make the same file at once.
func (c *compiler) keep(path string, write func(temporary string) error) error {
	now := time.Now()
	if err := os.Chtimes(path, now, now); err == nil {
		return nil // prune goes by the time of the last use
	}
	f, err := os.CreateTemp(filepath.Dir(path), "tmp-*")
	if err != nil {
		return fmt.Errorf("emulator: cache: %w", err)
	}
	temporary := f.Name()
	defer os.Remove(temporary)
	if err := f.Close(); err != nil {
		return fmt.Errorf("emulator: cache: %w", err)
	}
	if err := write(temporary); err != nil {
		return err
	}
	if err := syncFile(temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("emulator: cache: %w", err)
	}
	return c.prune()
}

// syncFile writes a file through to the disk.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("emulator: cache: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("emulator: cache: %w", err)
	}
	return nil
}

// prune removes the objects and libraries that were not used for two weeks.
func (c *compiler) prune() error {
	entries, err := os.ReadDir(c.cache)
	if err != nil {
		return fmt.Errorf("emulator: cache: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < 14*24*time.Hour {
			continue
		}
		if err := os.Remove(filepath.Join(c.cache, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("emulator: cache: %w", err)
		}
	}
	return nil
}

func (c *compiler) run(what string, args ...string) error {
	_, err := c.output(what, "", args...)
	return err
}

// output runs g++ and returns its standard output. An error has its messages.
func (c *compiler) output(what, dir string, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(c.path, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "LC_ALL=C", "LD_PRELOAD=")
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("emulator: %s: %w\n%s", what, err, stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// firstLine returns a text up to its first newline.
func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return string(line)
}

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
