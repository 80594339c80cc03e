package run

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"rollcall/results"
)

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
