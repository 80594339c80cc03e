package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// planJSON is what --plan --format json prints.
type planJSON struct {
	Title    string
	Hardware string
	Notes    []string
	Runs     []struct {
		ID, Status, Method, Data, Availability string
		Command                                []string
		Round, Rounds                          int
		Seconds                                float64
		Bytes                                  int64
		Seed                                   uint32
	}
}

// planOf returns the plan of a command.
func planOf(t *testing.T, args ...string) (p planJSON) {
	t.Helper()
	must.OK(t, json.Unmarshal([]byte(pass(t, append(args, "--plan", "--format", "json")...).stdout), &p))
	return p
}

// Every run of a sweep and of a figure, made by its command from the plan, is what one process makes: the sweep then
// trains nothing.
func TestRunsByID(t *testing.T) {
	for _, c := range []struct{ name, line string }{
		{
			"sweep", "sweep --methods mifa,fedavg-known,f3ast --availability sine,markov --seeds 3,4 --data leaf " +
				"--clients 4 --rounds 3 --eval-every 3 --local-steps 2 --f3ast-beta 0.02 --device cpu --threads 1",
		},
		{"crossed", "sweep --methods mifa --data leaf --clients 4 --rounds 1 --crossed 5 --seed-split 3 " +
			"--seed-phi 4 --seed-init 5 --device cpu"},
		{"figure", "figure cafed-i2 --rounds 3 --clients 6 --seeds 3,4 --device cpu"},
		{"table", "table cafed-1 --rounds 4 --clients 6 --seeds 3,4 --data binary --device cpu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			alone, out := t.TempDir(), t.TempDir()
			line := func(out string) []string { return append(strings.Fields(c.line), "--out", out) }
			pass(t, line(alone)...)
			plan := planOf(t, line(out)...)
			if len(plan.Runs) != len(seedFolders(t, alone)) || plan.Hardware == "" {
				t.Errorf("%d runs on %q, want %d on this machine", len(plan.Runs), plan.Hardware,
					len(seedFolders(t, alone)))
			}
			for i, r := range plan.Runs {
				if r.Status != "left" || r.Round != 0 || r.Seconds < 0 || r.Bytes <= 0 || r.Rounds < 1 {
					t.Errorf("%+v, want a run that is left", r)
				}
				if r.Command[0] != "rollcall" {
					t.Fatalf("%q, want a command of rollcall", r.Command)
				}
				pass(t, r.Command[1:]...)
				if i == 0 {
					if again := planOf(t, line(out)...).Runs[0]; again.Status != "finished" || again.Seconds != 0 {
						t.Errorf("%+v, want it finished", again)
					}
				}
			}
			o := pass(t, line(out)...)
			if len(begun(o.stderr)) > 0 {
				t.Errorf("begun: %q, want all runs kept", begun(o.stderr))
			}
			sameTree(t, "by their commands", timelessTree(t, out), timelessTree(t, alone))
		})
	}
}

// A run of a paper's table is made by its ID alone.
func TestRunByIDAlone(t *testing.T) {
	out := t.TempDir()
	plan := planOf(t, "table", "cafed-1", "--data", "binary", "--seeds", "3", "--device", "cpu", "--out", out)
	r := plan.Runs[0]
	pass(t, "run", "--id", r.ID, "--device", "cpu", "--out", out)
	again := planOf(t, "table", "cafed-1", "--data", "binary", "--seeds", "3", "--device", "cpu", "--out", out)
	if got := again.Runs[0]; got.ID != r.ID || got.Status != "finished" || got.Round != got.Rounds {
		t.Errorf("%+v, want %s finished", got, r.ID)
	}
}
