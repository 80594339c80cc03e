//go:build gpu && linux && cgo

package driver

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// headerVariable names the environment variable that names a cuda.h of NVIDIA's to compare ours with. If it is empty,
// those of a toolkit and those that `make check-ptx` keeps in the user's cache are taken.
const headerVariable = "ROLLCALL_CUDA_HEADER"

// theirHeaders returns the paths of NVIDIA's cuda.h on this machine, of one version of CUDA each.
func theirHeaders(t *testing.T) (paths []string) {
	t.Helper()
	if path := os.Getenv(headerVariable); path != "" {
		return []string{path}
	}
	patterns := []string{"/usr/local/cuda*/include/cuda.h"}
	if cache, err := os.UserCacheDir(); err == nil {
		patterns = append(patterns, filepath.Join(cache, "rollcall", "cuda", "*", "cuda.h"))
	}
	for _, pattern := range patterns {
		paths = append(paths, must.Get(filepath.Glob(pattern))(t)...)
	}
	return paths
}

// compile runs gcc, whose messages the patterns below know, in English. It returns what gcc prints, messages included.
func compile(t *testing.T, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skipf("left out: no gcc to compare headers with: %v", err)
	}
	c := exec.CommandContext(t.Context(), "gcc", append([]string{"-std=c11", "-fmax-errors=0"}, args...)...)
	c.Env = append(os.Environ(), "LC_ALL=C")
	out, err := c.CombinedOutput()
	return string(out), err
}

var (
	constantPattern = regexp.MustCompile(`\b(CU_\w+|CUDA_SUCCESS|CUDA_ERROR_\w+)\b`)
	structPattern   = regexp.MustCompile(`typedef struct \{([^}]*)\} (\w+);`)
	fieldPattern    = regexp.MustCompile(`(\w+)(\[\w+\])?\s*[,;]`)
	typePattern     = regexp.MustCompile(`(?:typedef [^{};]*?|\} )(CU\w+|cuuint32_t);|\(\*(CU\w+)\)\(`)
)

// claims returns what cuda.h in a folder says of constants, types and structures, as C text: one static assertion a
// line, which also holds with another header that says the same. The compiler works the values out.
func claims(t *testing.T, folder string) string {
	t.Helper()
	text, err := compile(t, "-E", "-P", filepath.Join(folder, "cuda.h"))
	if err != nil {
		t.Fatalf("%s: %v\n%s", folder, err, text)
	}
	var values []string
	seen := map[string]bool{}
	claim := func(expression string) {
		if !seen[expression] {
			values = append(values, fmt.Sprintf("P(%s)\n", expression))
		}
		seen[expression] = true
	}
	for _, m := range constantPattern.FindAllString(text, -1) {
		claim(m)
	}
	for _, m := range typePattern.FindAllStringSubmatch(text, -1) {
		name := m[1] + m[2]
		claim("sizeof(" + name + ")")
		claim("_Alignof(" + name + ")")
	}
	for _, name := range []string{"CUdevice", "CUdeviceptr", "cuuint32_t"} {
		claim("(" + name + ")-1 < 0") // signed
	}
	for _, m := range structPattern.FindAllStringSubmatch(text, -1) {
		for _, field := range fieldPattern.FindAllStringSubmatch(m[1], -1) {
			claim("offsetof(" + m[2] + ", " + field[1] + ")")
			claim("sizeof(((" + m[2] + " *)0)->" + field[1] + ")")
		}
	}
	program := filepath.Join(t.TempDir(), "claims")
	source := "#include \"" + filepath.Join(folder, "cuda.h") + "\"\n#include <stdio.h>\n" +
		"#define P(x) printf(\"_Static_assert((\" #x \") == %lld, \\\"\" #x \" is not %lld\\\");\\n\", V(x), V(x));\n" +
		"#define V(x) (long long)(x)\nint main(void) {\n" + strings.Join(values, "") + "}\n"
	must.OK(t, os.WriteFile(program+".c", []byte(source), 0o644))
	if out, err := compile(t, "-o", program, program+".c"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program).Output()
	if n := bytes.Count(out, []byte("\n")); err != nil || n != len(values) || n < 300 {
		t.Fatalf("%v, %d claims, want %d, and at least 300", err, n, len(values))
	}
	return string(out)
}

// calls checks the functions of needed.h and linked.h: the prototype of the very symbol that shim.c looks up. With
// NVIDIA's __CUDA_API_VERSION_INTERNAL, a header declares the older versions of a function too, each by its symbol.
const calls = `
#define CALL(name, symbol, params, args) \
  _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), CUresult(*) params), "prototype of " #symbol);
`

var (
	failedPattern = regexp.MustCompile(`error: static assertion failed: "(.*)"`)
	lacksPattern  = regexp.MustCompile(`error: '(\w+)' undeclared`)
	followPattern = regexp.MustCompile(`error: expression in static assertion is not (an integer|constant)`)
)

// compareHeaders compares cuda.h, needed.h and linked.h in a folder with another cuda.h. It returns what they say
// otherwise, and the names that the other header does not have.
func compareHeaders(t *testing.T, folder, other string) (differ, lacks []string) {
	t.Helper()
	source := "#define __CUDA_API_VERSION_INTERNAL\n#include <stddef.h>\n#include \"" + other + "\"\n" +
		"#define CUDA_KERNEL_NODE_PARAMS CUDA_KERNEL_NODE_PARAMS_v1\n" + // which the symbol that cu calls takes
		claims(t, folder) + calls +
		"#include \"" + filepath.Join(folder, "needed.h") + "\"\n" +
		"#include \"" + filepath.Join(folder, "linked.h") + "\"\n"
	path := filepath.Join(t.TempDir(), "compare.c")
	must.OK(t, os.WriteFile(path, []byte(source), 0o644))
	out, err := compile(t, "-fsyntax-only", path)
	missing := map[string]bool{}
	for line := range strings.Lines(out) {
		if m := failedPattern.FindStringSubmatch(line); m != nil {
			differ = append(differ, m[1])
		} else if m := lacksPattern.FindStringSubmatch(line); m != nil {
			missing[m[1]] = true
		} else if strings.Contains(line, "error: ") && !followPattern.MatchString(line) {
			t.Errorf("%s: %s", other, line)
		}
	}
	if (err == nil) != (len(differ)+len(missing) == 0) {
		t.Errorf("%s: %v\n%s", other, err, out)
	}
	return differ, slices.Sorted(maps.Keys(missing))
}

// explained lists where our cuda.h may differ from NVIDIA's, or say more.
var explained = map[string]string{
	"CU_CTX_FLAGS_MASK is not 31":   "later versions have more flags, which nobody sets",
	"cuFuncGetParamInfo":            "only drivers of CUDA 12.4 and later have it (linked.h)",
	"CUDA_ERROR_CONTAINED":          "only later drivers answer it",
	"CUDA_ERROR_TENSOR_MEMORY_LEAK": "only later drivers answer it",
}

// ours is the folder of our cuda.h, needed.h and linked.h.
func ours(t *testing.T) string {
	t.Helper()
	return must.Get(filepath.Abs("."))(t)
}

// TestHeader compares every constant, every size, every field and every function of our cuda.h with NVIDIA's.
func TestHeader(t *testing.T) {
	paths := theirHeaders(t)
	if len(paths) == 0 {
		t.Skipf("left out: no cuda.h of NVIDIA's: %s, a toolkit's, or one that make check-ptx fetches", headerVariable)
	}
	for _, path := range paths {
		differ, lacks := compareHeaders(t, ours(t), path)
		for _, what := range differ {
			if explained[what] == "" {
				t.Errorf("%s: %s, as our cuda.h says", path, what)
			}
		}
		for _, name := range lacks {
			if explained[name] == "" {
				t.Errorf("%s: has no %s, which our cuda.h has", path, name)
			}
		}
	}
}

// headerFault is one change in one of our headers, and the name that the comparison then finds.
type headerFault struct{ file, text, instead, want string }

var headerFaults = []headerFault{
	{"cuda.h", "CUDA_ERROR_OUT_OF_MEMORY = 2,", "CUDA_ERROR_OUT_OF_MEMORY = 3,", "CUDA_ERROR_OUT_OF_MEMORY is not 3"},
	{"cuda.h", "LOG_BUFFER_SIZE_BYTES = 6", "LOG_BUFFER_SIZE_BYTES = 7", "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES is not 7"},
	{
		"cuda.h", "(MULTIPROCESSOR_COUNT) = 16", "(MULTIPROCESSOR_COUNT) = 15",
		"CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT is not 15",
	},
	{"cuda.h", "CU_STREAM_NON_BLOCKING", "CU_STREAM_NOT_BLOCKING", "CU_STREAM_NOT_BLOCKING"},
	{"cuda.h", "unsigned long long CUdeviceptr;", "unsigned int CUdeviceptr;", "sizeof(CUdeviceptr) is not 4"},
	{"cuda.h", "typedef int CUdevice;", "typedef unsigned CUdevice;", "(CUdevice)-1 < 0 is not 0"},
	{"cuda.h", "char bytes[16];", "char bytes[8];", "sizeof(CUuuid) is not 8"},
	{"cuda.h", "value, elementSize;", "elementSize, value;", "offsetof(CUDA_MEMSET_NODE_PARAMS, value) is not 20"},
	{"needed.h", "(CUdeviceptr * p, size_t n)", "(CUdeviceptr * p, unsigned n)", "prototype of cuMemAlloc_v2"},
	{"needed.h", "(CUgraphExec x, CUstream s)", "(CUstream s, CUgraphExec x)", "prototype of cuGraphLaunch"},
	{"needed.h", "cuGraphInstantiateWithFlags", "cuGraphInstantiateByFlags", "cuGraphInstantiateByFlags"},
	{"linked.h", "(CUlimit l, size_t v)", "(CUlimit l, size_t *v)", "prototype of cuCtxSetLimit"},
}

// TestHeaderFaults plants faults in a copy of our headers: the comparison finds each.
func TestHeaderFaults(t *testing.T) {
	faulty := copyHeaders(t, headerFaults...)
	if paths := theirHeaders(t); len(paths) > 0 {
		findHeaderFaults(t, faulty, paths[len(paths)-1])
	}
	// Without NVIDIA's, the other header is ours, with every function under the symbol that shim.c looks up.
	path := filepath.Join(copyHeaders(t,
		headerFault{"cuda.h", "CUresult name params;", "CUresult symbol params;", ""},
		headerFault{"cuda.h", "CUresult cuInit(unsigned int flags);", "", ""},
		headerFault{
			"cuda.h", "} CUDA_KERNEL_NODE_PARAMS;", "} CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v1;", "",
		},
	), "cuda.h")
	findHeaderFaults(t, faulty, path)
}

func findHeaderFaults(t *testing.T, faulty, other string) {
	t.Helper()
	differ, lacks := compareHeaders(t, faulty, other)
	found := append(differ, lacks...)
	for _, f := range headerFaults {
		if !slices.Contains(found, f.want) {
			t.Errorf("%s: %s in place of %s: found %q, want %q", f.file, f.instead, f.text, found, f.want)
		}
	}
	// That is not for nothing: without faults, the comparison finds none of them.
	differ, lacks = compareHeaders(t, ours(t), other)
	for _, what := range append(differ, lacks...) {
		if explained[what] == "" {
			t.Errorf("%s: without a fault: found %q", other, what)
		}
	}
}

// copyHeaders copies our headers to a folder of their own, with faults.
func copyHeaders(t *testing.T, faults ...headerFault) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, name := range []string{"cuda.h", "needed.h", "linked.h"} {
		text := string(must.Get(os.ReadFile(name))(t))
		for _, f := range faults {
			if name != f.file {
				continue
			}
			changed := strings.Replace(text, f.text, f.instead, 1)
			if changed == text {
				t.Fatalf("%s: no %q to plant a fault in", name, f.text)
			}
			text = changed
		}
		must.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	return folder
}
