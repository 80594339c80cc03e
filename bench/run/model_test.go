package run

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/bench/run/folder"
	"rollcall/bench/settings"
	"rollcall/bench/settings/settingstest"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/nets/models"
	"rollcall/results"
	"rollcall/results/safetensors"
)

// smallRun returns a run on few pictures below out; more are settings as on a command line.
func smallRun(t *testing.T, out string, save SaveModel, more ...string) *Experiment {
	t.Helper()
	s := settingstest.Resolved(t, "data=synthetic train-size=120 test-size=40 clients=4 rounds=3 local-steps=2 "+
		"batch=8 eval-every=1 lr=0.05 p=0.5", more...)
	return &Experiment{Table: "run", Settings: s, Seed: 3, Dir: Folder(out, "run", s, 3), SaveModel: save}
}

func made(t *testing.T, ses *Session, x *Experiment) []results.CurveRow {
	t.Helper()
	rows := must.Get(do(t.Context(), x, ses, silent()))(t)
	return rows
}

// opened reads a saved model.
func opened(t *testing.T, path string) *safetensors.File {
	t.Helper()
	content := must.Get(os.ReadFile(path))(t)
	f := must.Get(safetensors.New(bytes.NewReader(content), int64(len(content))))(t)
	return f
}

// saveWeights writes initial weights of a net that no seed of a test draws.
func saveWeights(t *testing.T, path, net string) {
	t.Helper()
	model := must.Get(models.New(net))(t)
	w := model.Init(models.Torch, 77)
	tensors := settings.Tensors(model, w)
	must.OK(t, files.WriteFile(path, func(out io.Writer) error { return safetensors.Write(out, nil, tensors) }))
}

// A run starts from the bytes that its name says, or not at all.
func TestInitFromChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "W")
	saveWeights(t, path, "lenet5")
	x := smallRun(t, t.TempDir(), SaveNone, "net=lenet5", "init-from="+path)
	content := must.Get(os.ReadFile(path))(t)
	content[len(content)-1] ^= 1
	must.OK(t, os.WriteFile(path, content, 0o666))
	_, err := do(t.Context(), x, onCPU(t, "off"), silent())
	want := "--init-from " + path + ": changed since this command began"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A run that starts from a saved model has as round 0 the numbers of the round after which it was saved.
func TestSavedModelGoesOn(t *testing.T) {
	ses := onCPU(t, "off")
	for _, c := range []struct{ method, net string }{
		{"fedawe", "lenet5"}, {"fedavg-active", "lenet5"}, {"mifa", "resnet20"}, {"fedawe", "resnet20"},
	} {
		t.Run(c.method+"/"+c.net, func(t *testing.T) {
			out := t.TempDir()
			x := smallRun(t, out, SaveOne, "method="+c.method, "net="+c.net)
			curve := made(t, ses, x)
			path := filepath.Join(x.Dir, results.ModelFile)
			on := made(t, ses, smallRun(t, out, SaveNone, "method="+c.method, "net="+c.net, "init-from="+path))
			last, first := curve[len(curve)-1], on[0]
			if last.TestLoss != first.TestLoss || last.TrainLoss != first.TrainLoss || last.TestAcc != first.TestAcc {
				t.Errorf("round 0 has test loss %v, train loss %v, want %v and %v as the round saved",
					first.TestLoss, first.TrainLoss, last.TestLoss, last.TrainLoss)
			}
			if curve[0].TestLoss == last.TestLoss {
				t.Errorf("test loss %v before and after, want the run to have trained", last.TestLoss)
			}
			f, model := opened(t, path), ses.model
			want := map[string]string{
				"format": "pt", "net": c.net, "data": "synthetic", "method": c.method, "round": "3",
				"seed": "3", "settings_hash": results.Hash(x.Settings),
			}
			if fmt.Sprint(f.Metadata) != fmt.Sprint(want) {
				t.Errorf("metadata: got %v, want %v", f.Metadata, want)
			}
			if len(f.Tensors) != len(model.Params) {
				t.Fatalf("%d tensors, want %d", len(f.Tensors), len(model.Params))
			}
			for i, p := range model.Params {
				if got := f.Tensors[i]; got.Name != p.Name || !slices.Equal(got.Shape, p.Shape) ||
					got.DType != safetensors.F32 {
					t.Errorf("tensor %d: %+v, want %s of %v in F32", i, got, p.Name, p.Shape)
				}
			}
			if models, err := results.ModelFiles(x.Dir); err != nil || len(models) != 1 {
				t.Errorf("models %v, %v, want one", models, err)
			}
			if _, bad := results.ReadRunFolder(x.Dir); len(bad) > 0 {
				t.Errorf("verified: %v, want nothing wrong", bad)
			}
		})
	}
}

// With --save-model=all every client has one of the models, whose mean over the clients is FedAWE's model.
func TestSaveAllModels(t *testing.T) {
	ses := onCPU(t, "off")
	x := smallRun(t, t.TempDir(), SaveAll, "net=lenet5", "clients=6", "rounds=6")
	made(t, ses, x)
	names := must.Get(results.ModelFiles(x.Dir))(t)
	whole := opened(t, filepath.Join(x.Dir, results.ModelFile))
	const tensor = "conv1.weight"
	info, _ := whole.Lookup(tensor)
	n := info.Bytes / 4
	evaluated, mean, one := make([]float32, n), make([]float64, n), make([]float32, n)
	must.OK(t, whole.Float32s(tensor, 0, evaluated))
	var clients []string
	for _, name := range names {
		if name == results.ModelFile {
			continue
		}
		f := opened(t, filepath.Join(x.Dir, name))
		of := strings.Split(f.Metadata["clients"], ",")
		if want := "model-client-" + of[0] + ".safetensors"; name != want {
			t.Errorf("%s: of clients %v, want %s", name, of, want)
		}
		clients = append(clients, of...)
		must.OK(t, f.Float32s(tensor, 0, one))
		for i, v := range one {
			mean[i] += float64(len(of)) / 6 * float64(v)
		}
	}
	slices.Sort(clients)
	if got := strings.Join(clients, " "); got != "0 1 2 3 4 5" || len(names) < 3 {
		t.Errorf("%v of clients %s, want every client once, and two models of clients at least", names, got)
	}
	for i, want := range mean {
		if got := float64(evaluated[i]); math.Abs(got-want) > 1e-5 { // float32 sums of six weights below 1
			t.Fatalf("%s: element %d: %g, want %g, the mean over the clients", tensor, i, got, want)
		}
	}
}

// A finished run is trained again for models that it lacks, and kept if it has them; what it has written stays.
func TestKeptModels(t *testing.T) {
	ses, out := onCPU(t, "off"), t.TempDir()
	kept := func(save SaveModel) bool {
		x := smallRun(t, out, save, "net=lenet5", "rounds=1")
		_, d, _, err := x.decide(t.Context(), ses, Keep{}, folder.Policy{}, false)
		must.OK(t, err)
		_, kept := d.(folder.Keep)
		return kept
	}
	for _, c := range []struct {
		left           SaveModel
		none, one, all bool // kept where it is asked for
	}{{SaveNone, true, false, false}, {SaveOne, true, true, false}, {SaveAll, true, true, true}} {
		x := smallRun(t, out, c.left, "net=lenet5", "rounds=1")
		made(t, ses, x)
		if none, one, all := kept(SaveNone), kept(SaveOne), kept(SaveAll); none != c.none || one != c.one ||
			all != c.all {
			t.Errorf("left %q: kept %t, with one asked for %t, with all %t, want %t, %t, %t",
				c.left, none, one, all, c.none, c.one, c.all)
		}
	}
	run, bad := results.ReadRunFolder(smallRun(t, out, SaveNone, "net=lenet5", "rounds=1").Dir)
	if models := run.Written(); bad != nil || len(models) < 3 {
		t.Errorf("models %v, %v, want those that were asked for last", models, bad)
	}
}

// What PyTorch writes of a net is taken, and what is left of a run that trains nobody PyTorch reads as the same bits.
func TestPyTorchWeights(t *testing.T) {
	if out, err := exec.Command("python3", "-c", "import torch, safetensors.torch").CombinedOutput(); err != nil {
		t.Skipf("python3 with torch and safetensors is not to be had here: %v %s", err, bytes.TrimSpace(out))
	}
	python := func(script string, paths ...string) {
		t.Helper()
		const head = `
import sys, torch
from torch import nn
from safetensors.torch import load_file, save_file
def conv(i, o): return nn.Conv2d(i, o, 3, bias=False)
class Block(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv1, self.bn1, self.conv2, self.bn2 = conv(i, o), nn.BatchNorm2d(o), conv(o, o), nn.BatchNorm2d(o)
class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = conv(3, 16), nn.BatchNorm2d(16)
        for k, (i, o) in enumerate([(16, 16), (16, 32), (32, 64)]):
            setattr(self, f"layer{k + 1}", nn.Sequential(Block(i, o), Block(o, o), Block(o, o)))
        self.fc = nn.Linear(64, 10)
net = ResNet20()
`
		out, err := exec.Command("python3", append([]string{"-c", head + script}, paths...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	path := filepath.Join(t.TempDir(), "torch.safetensors")
	python(`
for name, b in net.named_buffers():
    if "running" in name: b.uniform_(0.5, 1.5)
save_file(net.state_dict(), sys.argv[1])
`, path)
	x := smallRun(t, t.TempDir(), SaveOne, "method=fedavg-active", "net=resnet20", "rounds=1", "p=0", "init-from="+path)
	made(t, onCPU(t, "off"), x)
	python(`
was, left = load_file(sys.argv[1]), load_file(sys.argv[2])
missing, unexpected = net.load_state_dict(left, strict=False)
assert not unexpected and all(k.endswith("num_batches_tracked") for k in missing), (missing, unexpected)
for name, x in left.items():
    assert torch.equal(x, was[name]), name
`, path, filepath.Join(x.Dir, results.ModelFile))
}
