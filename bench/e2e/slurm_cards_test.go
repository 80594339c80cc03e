//go:build gpu && linux && cgo

package e2e

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/slurmtest"
	"rollcall/nets/gpu/emulator"
)

// From a machine without a card a table is spread over the cards of a cluster: every task trains on the cards that
// Slurm gives it, as many tasks on a node as it has cards, and the table is collected where there is no card.
func TestSlurmCards(t *testing.T) {
	ofProcesses(t)
	library, err := emulator.Build(kernelsFolder, false)
	if err != nil {
		t.Skip("left out: " + err.Error())
	}
	c := slurmtest.Start(t, slurmtest.Options{Nodes: 1, CPUs: 2, GPUs: 2})
	out := t.TempDir()
	sweep := func(out string, more ...string) []string {
		return append([]string{
			"sweep", "--methods", "mifa", "--seeds", "3,4,6,8", "--data", "leaf", "--clients", "5",
			"--local-steps", "2", "--batch", "8", "--rounds", "40", "--eval-every", "20", "--threads", "1",
			"--out", out,
		}, more...)
	}
	// What the emulator needs is the nodes' alone.
	submitted := onCluster(t, c, sweep(out, "--slurm", "--collect", "--gres", "gpu:1", "--tasks", "2",
		"--sbatch=--export=ALL,ROLLCALL_EMULATOR_DEVICES=2,"+emulator.Env(library, false)[0])...)
	log := submitted.end(t, statusOK)
	script := contents(t, filepath.Join(out, "sweep", "slurm", "job.sh"))
	for _, want := range []string{
		"# 4 runs left; the cards of the tasks were not measured here\n", "\n#SBATCH --gres=gpu:1\n",
		"\n#SBATCH --time=60\n", ` --device=cuda:all --no-wait "--part=${SLURM_ARRAY_TASK_ID}/2" &` + "\n",
	} {
		if !strings.Contains(script, want) {
			t.Errorf("script\n%s\nwant %q in it", script, want)
		}
	}
	tasks := taskLogs(t, out)
	runs := begun(tasks)
	slices.Sort(runs)
	if len(runs) != 4 || len(slices.Compact(runs)) != 4 {
		t.Errorf("begun %q, want the four runs, each once", runs)
	}
	devices := regexp.MustCompile(`(?m)^device: (.*)$`).FindAllString(tasks, -1)
	for _, device := range devices {
		if device != "device: cuda-sm90, rollcall emulator, tf32" {
			t.Errorf("%s, want the one card of the task", device)
		}
	}
	if !strings.Contains(submitted.stdout.String(), " (4)") || len(devices) == 0 {
		t.Errorf("%s\n%s\nwant a mean of 4 seeds, made on cards", submitted.stdout.String(), log)
	}
	if strings.Contains(log, "device: ") || strings.Contains(log, "mixed") {
		t.Errorf("%s\nwant that nothing is trained where there is no card, and all taken", log)
	}
}
