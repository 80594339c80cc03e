package settings

import (
	"bytes"
	"encoding/binary"
	"fmt"
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
	if used := s.Named(); used["init-sha256"] != s.InitSum || len(s.InitSum) != 64 || used["init"] != nil {
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

// renamed puts a text before the names of tensors.
func renamed(tensors []safetensors.Tensor, before string) []safetensors.Tensor {
	for i := range tensors {
		tensors[i].Name = before + tensors[i].Name
	}
	return tensors
}

// Weights of half the precision are those of a net that was rounded, and those of double precision are what they were.
func TestReadInitWidened(t *testing.T) {
	var want []float32
	for name, by := range map[string]func(x float32) any{
		"F16":  func(x float32) any { return uint16(math.Float32bits(x)>>16&0x8000 | 0x3c00) }, // 1 of x's sign
		"BF16": func(x float32) any { return uint16(math.Float32bits(x)>>16&0x8000 | 0x3f80) },
		"F64":  func(x float32) any { return math.Copysign(1, float64(x)) },
	} {
		path, w := weightsFile(t, "resnet20", func(tensors []safetensors.Tensor) []safetensors.Tensor {
			for i, old := range tensors {
				tensors[i].DType = safetensors.DType(name)
				tensors[i].Write = func(w io.Writer) error {
					var b bytes.Buffer
					if err := old.Write(&b); err != nil {
						return err
					}
					for raw := range slices.Chunk(b.Bytes(), 4) {
						x := math.Float32frombits(binary.LittleEndian.Uint32(raw))
						if err := binary.Write(w, binary.LittleEndian, by(x)); err != nil {
							return err
						}
					}
					return nil
				}
			}
			return tensors
		})
		if want == nil {
			for _, x := range w {
				want = append(want, float32(math.Copysign(1, float64(x))))
			}
		}
		s := must.Get(startedFrom("resnet20", path))(t)
		if got, err := s.ReadInit(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: other weights, %v", name, err)
		}
	}
}

// A file of another kind is named as that, however large it is.
func TestReadInitOtherKinds(t *testing.T) {
	for _, size := range []int{100, 16 << 20} {
		path := filepath.Join(t.TempDir(), "net.pth")
		must.OK(t, os.WriteFile(path, append([]byte("PK\x03\x04"), make([]byte, size)...), 0o666))
		_, err := startedFrom("resnet20", path)
		want := "safetensors: a zip file, as .pt and .pth files of PyTorch are, want safetensors (docs/files.md"
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%d bytes: got %v, want %s", size, err, want)
		}
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
			*at(l, "fc.bias") = safetensors.Int64s("fc.bias", []int{10}, make([]int64, 10))
			return l
		}, `tensor "fc.bias": dtype I64, want F32, F16, BF16 or F64`},
		{"F64 between two float32", func(l list) list {
			*at(l, "fc.bias") = safetensors.Float64s("fc.bias", []int{10}, slices.Repeat([]float64{0.1}, 10))
			return l
		}, `tensor "fc.bias": element 0 is 0.1, want a value that float32 holds exactly`},
		{"DataParallel", func(l list) list {
			return renamed(l, "module.")
		}, `"module." is before all names, as DataParallel, torch.compile and trainers put it, want the names of the ` +
			`net itself: conv1.weight`},
		{"torch.compile of a trainer's net", func(l list) list {
			return append(renamed(l, "net._orig_mod."), safetensors.Int64s("epoch", nil, []int64{3}))
		}, `"net._orig_mod." is before all names`},
		{"another net with a name in front", func(l list) list {
			return renamed(l[:len(l)-1], "module.")
		}, `tensor "module.conv1.weight" [16 3 3 3]: no parameter of resnet20`},
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
			return append(l, safetensors.Bytes("x.num_batches_tracked", make([]byte, 4<<20)))
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

// The content of a split's file names the run, and not its path; other kinds of split leave no file behind.
func TestSplitFile(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "split.csv")
		must.OK(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	const text = "client,index\n0,1\n2,4\n"
	resolved := func(given ...string) (Settings, error) {
		var all Given
		for _, word := range append([]string{"data=mnist", "clients=3"}, given...) {
			name, value, _ := strings.Cut(word, "=")
			all = append(slices.DeleteFunc(all, func(s algos.Setting) bool { return s.Name == name }),
				algos.Setting{Name: name, Value: value})
		}
		return Resolve(all)
	}
	path := write(text)
	s := must.Get(resolved("split=file:" + path))(t)
	same := must.Get(resolved("split-file=" + write(text)))(t)
	other := must.Get(resolved("split=file:" + write(text+"1,5\n")))(t)
	if results.Hash(s) != results.Hash(same) || results.Hash(s) == results.Hash(other) {
		t.Errorf("hashes %s, of the same content %s, of other content %s, want the first two alike", results.Hash(s),
			results.Hash(same), results.Hash(other))
	}
	if used := s.Named(); used["split"] != "file" || used["split-sha256"] != s.SplitSum || len(s.SplitSum) != 64 ||
		used["alpha"] != nil || strings.Contains(fmt.Sprint(used), path) {
		t.Errorf("settings %v, want split file and its checksum, without path and alpha", used)
	}
	if got := s.Params(); got.Get("split") != "file" || got.Get("split-file") != path || s.Unnamed() != nil {
		t.Errorf("params %s, apart %v, want the file and nothing apart", got, s.Unnamed())
	}
	flags := must.Get(s.Flags())(t)
	if again := must.Get(Restore(flags))(t); results.Hash(again) != results.Hash(s) {
		t.Errorf("flags %v lead to another run, want the same", flags)
	}
	even := s
	must.OK(t, even.Set("split", "even"))
	if plain := must.Get(resolved("split=even"))(t); results.Hash(even) != results.Hash(plain) || even.SplitFile != "" {
		t.Errorf("then cut evenly: %v, want no file", even.Named())
	}
	// No draw decides what the clients hold, until one does.
	if names := s.UngivenSeeds(); slices.Contains(names, "seed-split") {
		t.Errorf("draws from %v, want nothing of the split", names)
	}
	for _, more := range []string{"validation=0.2", "hold-out=0.2", "train-size=4", "test-size=4"} {
		with := must.Get(resolved("split=file:"+path, more))(t)
		if names := with.UngivenSeeds(); !slices.Contains(names, "seed-split") {
			t.Errorf("with %s: draws from %v, want seed-split too", more, names)
		}
	}
	must.OK(t, os.WriteFile(path, []byte(text+"1,5\n"), 0o666))
	if _, err := s.ReadSplit(60_000); err == nil || !strings.Contains(err.Error(), "changed since this command began") {
		t.Errorf("changed meanwhile: %v, want an error", err)
	}
	far := write("client,index\n0,1\n9,2\n")
	for _, c := range []struct{ given, want string }{
		{"split=file", "--split file: want the file, --split file:FILE"},
		{"split=file:", "--split file: want the file, --split file:FILE"},
		{"split=file:none", "--split file: open none: no such file or directory"},
		{"split=file:" + filepath.Dir(far), "--split file: " + filepath.Dir(far) + ": a folder, want a file"},
		{"split=file:a;b", `--split file:FILE "a;b": want a path without ; and line breaks, which separate settings ` +
			"in CSV"},
		{"split=file:" + far, "--split file " + far + ": samples of client 9, want clients 0 … 2: --clients 10"},
		{"split=even split-file=" + far, "--split-file " + far + ": of no use with --method fedawe --data mnist " +
			"--availability stationary, want it with --split file, or not at all"},
		{"draws=numpy split=file:" + far, "--draws numpy: with --data mnist --split file, want FedAWE's split: " +
			"--split clients"},
		{"draws=numpy train-size=100", "--draws numpy: with --train-size 100, want FedAWE's split of all samples: " +
			"--train-size 0"},
		{"alpha=1 split=file:" + far, "--alpha 1: of no use with --method fedawe --data mnist --availability " +
			"stationary, want it with --split clients, classes or clusters, or not at all"},
		{"swap-pairs=2 train-size=9 clients=4", "--train-size 9: of no use with --method fedawe --data mnist " +
			"--availability stationary, want it with --data synthetic, or other images without --swap-pairs, " +
			"or not at all"},
		{"hold-out=0.2 test-size=9", "--test-size 9: of no use with --method fedawe --data mnist --availability " +
			"stationary, want it with --data synthetic, or other images without --swap-pairs and --hold-out, " +
			"or not at all"},
		{"data=leaf train-size=9", "--train-size 9: of no use with --method fedawe --data leaf --availability " +
			"stationary, want it with --data synthetic, or other images without --swap-pairs, or not at all"},
		{"data=synthetic train-size=0", "--train-size 0: with --data synthetic, want 1 … 1000000"},
		{"train-size=-1", "--train-size -1: want 0 … 1000000"},
	} {
		if _, err := resolved(strings.Fields(c.given)...); fmt.Sprint(err) != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.given, err, c.want)
		}
	}
}

// A size of a real data set names the run, and no size leaves the name as it was before there were sizes.
func TestSizes(t *testing.T) {
	plain := must.Get(Resolve(Given{{Name: "data", Value: "mnist"}}))(t)
	zero := must.Get(Resolve(Given{{Name: "data", Value: "mnist"}, {Name: "train-size", Value: "0"}}))(t)
	few := must.Get(Resolve(Given{{Name: "data", Value: "mnist"}, {Name: "train-size", Value: "9"}}))(t)
	if results.Hash(plain) != results.Hash(zero) || results.Hash(few) == results.Hash(plain) ||
		few.Params() != "train-size=9" || few.Sizes() != [2]int{9, 0} {
		t.Errorf("hashes %s, of 0 samples %s, of 9 %s; params %s, want 0 to be none and 9 in the params",
			results.Hash(plain), results.Hash(zero), results.Hash(few), few.Params())
	}
}
