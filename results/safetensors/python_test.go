package safetensors

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"rollcall/internal/must"
)

// python runs a script with the package safetensors, on paths that it finds in sys.argv.
func python(t *testing.T, imports, script string, args ...string) {
	t.Helper()
	if out, err := exec.Command("python3", "-c", "import "+imports).CombinedOutput(); err != nil {
		t.Skipf("python3 with %s is not to be had here: %v %s", imports, err, bytes.TrimSpace(out))
	}
	command := append([]string{"-c", "import sys, " + imports + "\n" + script}, args...)
	if out, err := exec.Command("python3", command...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// What is written here is what the format's own package reads, for NumPy and for PyTorch.
func TestPythonReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ours.safetensors")
	out := must.Get(os.Create(path))(t)
	must.OK(t, Write(out, map[string]string{"format": "pt", "net": "é"}, []Tensor{
		Int64s("i64", []int{3}, []int64{-1, 1 << 62, 0}), Float64s("f64", []int{2, 1}, []float64{0.1, -2e300}),
		Float32s("w", []int{2, 3}, []float32{1, 2, 3, 4, 5, 0.1}), Float32s("scalar", nil, []float32{7}),
		Float32s("empty", []int{0, 4}, nil), Bytes("u8", []byte("abc")),
	}))
	must.OK(t, out.Close())
	const check = `
with safe_open(sys.argv[1], kind) as f:
    assert f.metadata() == {"format": "pt", "net": "é"}, f.metadata()
    x = {k: f.get_tensor(k) for k in f.keys()}
    assert sorted(x) == ["empty", "f64", "i64", "scalar", "u8", "w"], list(x)
    got = {k: (str(v.dtype).removeprefix("torch."), tuple(v.shape), v.tolist()) for k, v in x.items()}
    want = {"i64": ("int64", (3,), [-1, 1 << 62, 0]), "f64": ("float64", (2, 1), [[0.1], [-2e300]]),
        "w": ("float32", (2, 3), [[1, 2, 3], [4, 5, 0.10000000149011612]]), "scalar": ("float32", (), 7),
        "empty": ("float32", (0, 4), []), "u8": ("uint8", (3,), [97, 98, 99])}
    assert got == want, (got, want)
`
	t.Run("numpy", func(t *testing.T) {
		python(t, "numpy, safetensors.numpy", "from safetensors import safe_open\nkind = 'np'"+check, path)
	})
	t.Run("torch", func(t *testing.T) {
		python(t, "torch, safetensors.torch", "from safetensors import safe_open\nkind = 'pt'"+check, path)
	})
}

// What the format's own package writes is what is read here.
func TestReadsPython(t *testing.T) {
	path := filepath.Join(t.TempDir(), "theirs.safetensors")
	python(t, "numpy, safetensors.numpy", `
n = numpy
safetensors.numpy.save_file({"w": n.arange(6, dtype=n.float32).reshape(2, 3), "f64": n.array([0.1, -2e300]),
    "i64": n.array([-1, 1 << 62]), "u8": n.array([1, 2, 255], dtype=n.uint8), "half": n.ones(3, dtype=n.float16),
    "empty": n.zeros((0, 4), dtype=n.float32), "scalar": n.array(7, dtype=n.float32)},
    sys.argv[1], {"format": "np", "é": "1"})
`, path)
	b := must.Get(os.ReadFile(path))(t)
	f := must.Get(open(b))(t)
	w, scalar := make([]float32, 6), make([]float32, 1)
	if err := f.Float32s("w", 0, w); err != nil || !slices.Equal(w, []float32{0, 1, 2, 3, 4, 5}) {
		t.Errorf("w: got %v, %v, want 0 … 5", w, err)
	}
	if err := f.Float32s("scalar", 0, scalar); err != nil || scalar[0] != 7 {
		t.Errorf("scalar: got %v, %v, want 7", scalar, err)
	}
	if x, err := f.Float64s("f64"); err != nil || !slices.Equal(x, []float64{0.1, -2e300}) {
		t.Errorf("f64: got %v, %v, want [0.1 -2e300]", x, err)
	}
	if x, err := f.Int64s("i64"); err != nil || !slices.Equal(x, []int64{-1, 1 << 62}) {
		t.Errorf("i64: got %v, %v, want [-1 2^62]", x, err)
	}
	if x, err := f.Bytes("u8"); err != nil || !bytes.Equal(x, []byte{1, 2, 255}) {
		t.Errorf("u8: got %v, %v, want [1 2 255]", x, err)
	}
	if half, _ := f.Lookup("half"); half.DType != "F16" || half.Bytes != 6 {
		t.Errorf("half: got %+v, want F16 of 6 bytes", half)
	}
	if empty, _ := f.Lookup("empty"); !slices.Equal(empty.Shape, []int{0, 4}) {
		t.Errorf("empty: got %+v, want shape [0 4]", empty)
	}
	if f.Metadata["format"] != "np" || f.Metadata["é"] != "1" {
		t.Errorf("metadata: got %v, want format np and é 1", f.Metadata)
	}
}
