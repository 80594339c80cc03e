package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// A run that is evaluated on the training set in its last 50 rounds alone has the models and the other numbers of one
// that always is, and in its place does for whoever asks for no more. Who does gets the run made again.
func TestTrainRounds(t *testing.T) {
	top := t.TempDir()
	rounds := func(which, out string) []string {
		return smallRun(filepath.Join(top, out), "--rounds", "60", "--eval-every", "5", "--save-model",
			"--eval-train-rounds", which, "--seed", "3", "--checkpoint-every", "1ms")
	}
	tree := func(out string) map[string]string { return timelessTree(t, filepath.Join(top, out)) }
	pass(t, rounds("all", "all")...)
	pass(t, rounds("last", "last")...)
	all, last := tree("all"), tree("last")
	without := 0
	for name, text := range all {
		if filepath.Base(name) != "curve.csv" {
			if strings.HasSuffix(name, ".safetensors") && text != last[name] {
				t.Errorf("%s differs", name)
			}
			continue
		}
		_, rows := table(t, text)
		_, less := table(t, last[name])
		for i, row := range rows {
			if number(t, row["round"]) <= 10 {
				row["train_loss"], row["train_acc"] = "", ""
				without++
			}
			for column, value := range row {
				if less[i][column] != value {
					t.Errorf("round %s: %s %q with last, want %q", row["round"], column, less[i][column], value)
				}
			}
		}
	}
	if without != 3 {
		t.Errorf("%d rows up to round 10, want 3", without)
	}

	// More is enough for less.
	if o := pass(t, rounds("last", "all")...); !strings.Contains(o.stdout, "kept") {
		t.Errorf("last where all is: %q, want it kept", o.stdout)
	}
	sameTree(t, "last where all is", tree("all"), all)
	// Less is not enough for more, and the run that was there goes when the new one has all of it.
	o := pass(t, rounds("all", "last")...)
	if !strings.Contains(o.stderr, "round 0 is not evaluated on the training set") {
		t.Errorf("all where last is: %q, want that said", o.stderr)
	}
	sameTree(t, "all where last is", tree("last"), all)

	// An unfinished run goes on as it was begun, if that is enough.
	for _, c := range []struct{ begun, ended string }{{"all", "last"}, {"last", "all"}, {"last", "last"}} {
		out := c.begun + "-" + c.ended
		interrupt(t, "round 20/60", rounds(c.begun, out)...)
		pass(t, rounds(c.ended, out)...)
		want := all
		if c.ended == "last" && c.begun == "last" {
			want = last
		}
		sameTree(t, out, tree(out), want)
	}
	// A new run with less does not take the place of one with more.
	pass(t, append(rounds("last", "all"), "--again")...)
	dir := filepath.Dir(only(t, filepath.Join(top, "all"), curvePath))
	kept := must.Get(os.ReadFile(filepath.Join(dir, ".old", "curve.csv")))(t)
	if _, rows := table(t, string(kept)); rows[0]["train_loss"] == "" {
		t.Error(".old has no numbers of round 0 on the training set, want the run with more")
	}
}
