//go:build gpu && linux && cgo

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/longtest"
	"rollcall/nets/gpu/gputest"
)

// severalCards are the arguments of a sweep of seconds with runs that are alike, on cards.
func severalCards(out, device string, more ...string) []string {
	return smallSweep(out, append(strings.Fields("--methods fedavg-active --seeds 3,4,5,6,7,8 --clients 5 --rounds 20 "+
		"--local-steps 2 --eval-every 5 --precision fp32 --checkpoint-every 1ms --device "+device), more...)...)
}

// has checks that a log has each text so often.
func has(t *testing.T, log string, n int, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if got := strings.Count(log, text); got != n {
			t.Errorf("%q %d times, want %d, in\n%s", text, got, n, log)
		}
	}
}

// A sweep on several cards leaves the same bytes as on one. Every card opens an engine for a run, or several of them
// with --pack, and a card that is not named does not.
func TestSeveralCards(t *testing.T) {
	if !onCard(t, "ROLLCALL_EMULATOR_DEVICES=3") {
		return
	}
	alone := t.TempDir()
	has(t, pass(t, severalCards(alone, "cuda")...).stderr, 1, "device: cuda-sm90, rollcall emulator, fp32\n")
	want := timelessTree(t, alone)
	all := t.TempDir()
	o := pass(t, severalCards(all, "cuda:all")...)
	has(t, o.stderr, 1, "fp32 (cuda:0)\n", "fp32 (cuda:1)\n", "fp32 (cuda:2)\n")
	sameTree(t, "cuda:all", timelessTree(t, all), want)
	two := t.TempDir()
	o = pass(t, severalCards(two, "cuda:2,0", "--pack", "2")...)
	has(t, o.stderr, 1, "fp32 (cuda:0, one of 2 engines)\n", "fp32 (cuda:2, one of 2 engines)\n")
	has(t, o.stderr, 0, "cuda:1")
	sameTree(t, "cuda:2,0 --pack 2", timelessTree(t, two), want)
	plan := pass(t, severalCards(t.TempDir(), "cuda:all", "--plan")...).stdout
	has(t, plan, 1, " on 3 cards\n")

	for device, why := range map[string]string{
		"cuda:0,7": "device cuda:0,7: gpu: no card 7, there are 3",
		"cuda:1,1": "--device cuda:1,1: card 1 twice, want it once",
		"cuda:0,x": `--device "cuda:0,x": want cuda:all, or indexes with commas`,
	} {
		status := statusUsage
		if strings.HasSuffix(device, "7") {
			status = statusFailure
		}
		oneLineError(t, rollcall(t, severalCards(t.TempDir(), device)...), status, why)
	}
	for _, command := range []string{"run", "bench"} {
		oneLineError(t, rollcall(t, command, "--data", "leaf", "--device", "cuda:all", "--out", t.TempDir()),
			statusUsage, "--device cuda:all: want one card, cuda[:i]")
	}
	oneLineError(t, rollcall(t, "devices", "--check", "--device", "cuda:0,1"), statusUsage,
		"--device cuda:0,1: want one card, cuda[:i]")
}

// When a card is lost in the middle of a run, the run goes on from its checkpoint on another one, to the same bytes.
func TestLostCard(t *testing.T) {
	if !onCard(t, "ROLLCALL_EMULATOR_DEVICES=3", "ROLLCALL_EMULATOR_LOSE_DEVICE=1:120") {
		return
	}
	alone, out := t.TempDir(), t.TempDir()
	pass(t, severalCards(alone, "cuda:0")...)
	o := pass(t, severalCards(out, "cuda:all")...)
	has(t, o.stderr, 1, "rollcall: cuda:1, rollcall emulator: lost (", ": its runs resume on the other cards\n",
		": resumes from round ")
	has(t, o.stderr, 0, "tried again", "failed")
	sameTree(t, "one card lost", timelessTree(t, out), timelessTree(t, alone))
}

// When the last card is lost, the command ends with an error that says so. No run has failed, and a repeated command
// goes on with those that were begun.
func TestLastCardLost(t *testing.T) {
	longtest.Only(t, "cards lost one after the other; TestLostCard loses one")
	const lostFolder = "ROLLCALL_TEST_FOLDER"
	out := os.Getenv(lostFolder)
	if out == "" {
		out := t.TempDir()
		for _, fault := range []string{"120", ""} {
			child := gputest.Child(t, kernelsFolder, false, "^"+t.Name()+"$", lostFolder+"="+out,
				"ROLLCALL_EMULATOR_DEVICES=2", "ROLLCALL_EMULATOR_LOSE_DEVICE="+fault)
			text, err := child.CombinedOutput()
			if err != nil || !strings.Contains(string(text), "--- PASS: "+t.Name()) {
				t.Errorf("%v\n%s", err, text)
			}
		}
		return
	}
	const device, cards = "cuda:all", 2 // package run loses a single one too
	if os.Getenv("ROLLCALL_EMULATOR_LOSE_DEVICE") == "" {
		o := pass(t, severalCards(out, device)...)
		has(t, o.stderr, cards, ": resumes from round ")
		undisturbed := t.TempDir()
		pass(t, severalCards(undisturbed, device)...)
		sameTree(t, "repeated", timelessTree(t, out), timelessTree(t, undisturbed))
		return
	}
	o := rollcall(t, severalCards(out, device)...)
	has(t, o.stderr, 1, "rollcall: no card is left: repeat the command to resume the other runs\n")
	has(t, o.stderr, cards, ", rollcall emulator: lost (")
	has(t, o.stderr, cards-1, ": its runs resume on the other cards\n")
	has(t, o.stderr, 0, "tried again", "failed")
	if o.status != statusFailure {
		t.Errorf("status %d, want %d", o.status, statusFailure)
	}
	begun, err := filepath.Glob(filepath.Join(out, "sweep/*/seed-*/run.json"))
	if err != nil || len(begun) != cards {
		t.Errorf("%v, %v have a run.json, want %d", err, begun, cards)
	}
	for _, path := range begun {
		if text := contents(t, path); !strings.Contains(text, `"status": "interrupted"`) {
			t.Errorf("%s: %s, want an interrupted run", path, text)
		}
	}
	summary := contents(t, filepath.Join(out, "sweep/summary.csv"))
	has(t, summary, 2, ",interrupted,interrupted,") // train and test accuracy
	has(t, summary, 0, ",failed,")
}

// A single run on a card that is lost ends as interrupted, and the error says why.
func TestRunOnLostCard(t *testing.T) {
	if !onCard(t, "ROLLCALL_EMULATOR_LOSE_DEVICE=40") {
		return
	}
	out := t.TempDir()
	o := rollcall(t, "run", "--method", "fedavg-active", "--data", "leaf", "--clients", "5", "--rounds", "20",
		"--local-steps", "2", "--batch", "4", "--device", "cuda", "--out", out)
	if o.status != statusFailure || !strings.HasSuffix(o.stdout, ": interrupted\n") {
		t.Errorf("status %d, stdout %q, want %d and that the run was interrupted", o.status, o.stdout, statusFailure)
	}
	has(t, o.stderr, 1, "rollcall: algos: fedavg-active: round ", "device lost: ROLLCALL_EMULATOR_LOSE_DEVICE")
	has(t, contents(t, only(t, out, runPath)), 1, `"status": "interrupted"`, `"error": "interrupted after `)
}

// Cards are counted as CUDA_VISIBLE_DEVICES leaves them. Cards that compute other last digits train one table in fp32
// alone, where they do not.
func TestCardsOfSeveralKinds(t *testing.T) {
	if !onCard(t, "ROLLCALL_EMULATOR_DEVICES=3", "ROLLCALL_EMULATOR_CAPABILITY=9.0,7.5,8.6",
		"CUDA_VISIBLE_DEVICES=2,0,1") {
		return
	}
	list := pass(t, "devices").stdout
	has(t, list, 1, "\ncuda:0", "\ncuda:1", "\ncuda:2")
	out := t.TempDir()
	o := pass(t, severalCards(out, "cuda:all")...)
	has(t, o.stderr, 1, "device: cuda-sm86, rollcall emulator, fp32 (cuda:0)\n",
		"device: cuda-sm90, rollcall emulator, fp32 (cuda:1)\n",
		"cuda:all: without cuda:2 (rollcall emulator: compute capability 7.5, want 8.0 or later)\n")
	oneLineError(t, rollcall(t, severalCards(t.TempDir(), "cuda:all", "--precision", "tf32")...), statusUsage,
		"--device cuda:all: numbers of these cards differ in the last digits: want cuda:0 (cuda-sm86-tf32) or cuda:1 "+
			"(cuda-sm90-tf32), or --precision fp32")
	oneLineError(t, rollcall(t, severalCards(t.TempDir(), "cuda:0,2")...), statusFailure,
		"device cuda:0,2: cuda:2, rollcall emulator: compute capability 7.5")
}

// CUDA shows a process one MIG instance, however many it names, and the command says what to do with the others.
func TestInstances(t *testing.T) {
	if !onCard(t, "ROLLCALL_EMULATOR_MIG=3",
		"CUDA_VISIBLE_DEVICES=MIG-00000000-0001,MIG-00000000-0003,MIG-00000000-0002") {
		return
	}
	o := pass(t, severalCards(t.TempDir(), "cuda:all", "--rounds", "4")...)
	has(t, o.stderr, 1, "cuda:all: CUDA shows a process one MIG instance, and CUDA_VISIBLE_DEVICES names 3: start a "+
		"process for each of them, with it alone in CUDA_VISIBLE_DEVICES, all with this --out\n")
}
