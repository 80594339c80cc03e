package settings

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/internal/must"
	"rollcall/nets/models"
	"rollcall/results"
	"rollcall/results/safetensors"
)

// weightsFile writes the initial weights of a net as PyTorch would, after some change of its tensors.
func weightsFile(
	t *testing.T, net string, change func([]safetensors.Tensor) []safetensors.Tensor,
) (path string, w []float32) {
	t.Helper()
	model := must.Get(models.New(net))(t)
	w = model.Init(models.Torch, 8)
	tensors := Tensors(model, w)
	if change != nil {
		tensors = change(tensors)
	}
	var b bytes.Buffer
	must.OK(t, safetensors.Write(&b, map[string]string{"format": "pt"}, tensors))
	path = filepath.Join(t.TempDir(), "w.safetensors")
	must.OK(t, os.WriteFile(path, b.Bytes(), 0o666))
	return path, w
}

func startedFrom(net, path string, more ...algos.Setting) (Settings, error) {
	given := Given{{Name: "data", Value: "synthetic"}, {Name: "net", Value: net}, {Name: "init-from", Value: path}}
	return Resolve(append(given, more...))
}

// Weights are taken in whatever order they stand in, and counts of batches are passed over; the content names the run.
func TestReadInit(t *testing.T) {
	path, want := weightsFile(t, "resnet20", func(tensors []safetensors.Tensor) []safetensors.Tensor {
		slices.Reverse(tensors)
		return append([]safetensors.Tensor{safetensors.Int64s("bn1.num_batches_tracked", nil, []int64{9})}, tensors...)
	})
	s := must.Get(startedFrom("resnet20", path))(t)
	w, err := s.ReadInit()
	if err != nil || !slices.Equal(w, want) {
		t.Fatalf("weights are others, %v", err)
	}
	plain, err := startedFrom("resnet20", "")
	if !IsUsage(err) || !strings.Contains(err.Error(), "--init-from : of no use") {
		t.Errorf("no file: got %v, want a usage error", err)
	}
	twin := filepath.Join(t.TempDir(), "twin")
	content := must.Get(os.ReadFile(path))(t)
	must.OK(t, os.WriteFile(twin, content, 0o666))
	other := must.Get(startedFrom("resnet20", twin))(t)
	if results.Hash(s) != results.Hash(other) || results.Hash(s) == results.Hash(plain) {
		t.Errorf("hashes %s, %s of the same content elsewhere, %s without, want the first two alike",
			results.Hash(s), results.Hash(other), results.Hash(plain))
	}
	if used := s.named(); used["init-sha256"] != s.InitSum || len(s.InitSum) != 64 || used["init"] != nil {
		t.Errorf("run.json: init-sha256 %v, init %v, want the checksum alone", used["init-sha256"], used["init"])
	}
	if got := s.Params().Get("init-from"); got != path {
		t.Errorf("params: init-from %q, want %s", got, path)
	}
	content[len(content)-1] ^= 1
	must.OK(t, os.WriteFile(path, content, 0o666))
	_, err = s.ReadInit()
	if err == nil || !strings.Contains(err.Error(), path+": changed since this command began: SHA-256") {
		t.Errorf("file changed: got %v, want an error", err)
	}
}

func TestReadInitRefused(t *testing.T) {
	type list = []safetensors.Tensor
	at := func(tensors list, name string) *safetensors.Tensor {
		return &tensors[slices.IndexFunc(tensors, func(t safetensors.Tensor) bool { return t.Name == name })]
	}
	filled := func(tensors list, name string, x float32) list {
		tensor := at(tensors, name)
		*tensor = safetensors.Float32s(name, tensor.Shape, slices.Repeat([]float32{x}, 16))
		return tensors
	}
	for _, c := range []struct {
		name   string
		change func(list) list
		want   string
	}{
		{"missing", func(l list) list {
			return l[:len(l)-1]
		}, `no tensor "fc.bias", want one of shape [10], as resnet20 has it`},
		{"foreign", func(l list) list {
			return append(l, safetensors.Float32s("head.weight", []int{2}, make([]float32, 2)))
		}, `tensor "head.weight" [2]: no parameter of resnet20, want its`},
		{"shape", func(l list) list {
			at(l, "fc.weight").Shape = []int{64, 10}
			return l
		}, `tensor "fc.weight": shape [64 10], want [10 64], as resnet20 has it`},
		{"scalar", func(l list) list {
			*at(l, "fc.bias") = safetensors.Float32s("fc.bias", nil, []float32{1})
			return l
		}, `tensor "fc.bias": shape [], want [10]`},
		{"dtype", func(l list) list {
			half := func(w io.Writer) error {
				_, err := w.Write(make([]byte, 20))
				return err
			}
			*at(l, "fc.bias") = safetensors.Tensor{Name: "fc.bias", DType: "F16", Shape: []int{10}, Write: half}
			return l
		}, `tensor "fc.bias": dtype F16, want F32`},
		{"NaN", func(l list) list {
			return filled(l, "bn1.bias", float32(math.NaN()))
		}, `tensor "bn1.bias": element 0 is NaN, want finite numbers`},
		{"infinite", func(l list) list {
			return filled(l, "bn1.running_mean", float32(math.Inf(-1)))
		}, `tensor "bn1.running_mean": element 0 is -Inf, want finite numbers`},
		{"negative variance", func(l list) list {
			return filled(l, "bn1.running_var", -0.5)
		}, `tensor "bn1.running_var": element 0 is -0.5, want variances of 0 or more`},
		{"too large", func(l list) list {
			return append(l, safetensors.Bytes("x.num_batches_tracked", make([]byte, 2<<20)))
		}, `bytes, want at most`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, _ := weightsFile(t, "resnet20", c.change)
			_, err := startedFrom("resnet20", path)
			if err == nil || !strings.Contains(err.Error(), "--init-from") || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s of %s", err, c.want, path)
			}
		})
	}
	path, _ := weightsFile(t, "resnet20", nil)
	_, err := startedFrom("cnn-cifar10", path)
	if want := ": no parameter of cnn-cifar10, want its 10 alone"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("another net: got %v, want %s", err, want)
	}
	_, err = startedFrom("resnet20", path, algos.Setting{Name: "init", Value: "torch"})
	if !IsUsage(err) || !strings.Contains(err.Error(), "--init torch: of no use") ||
		!strings.Contains(err.Error(), "without --init-from") {
		t.Errorf("with --init: got %v, want a usage error", err)
	}
}
