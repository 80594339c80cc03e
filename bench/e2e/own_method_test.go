package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/bench/settings"
	"rollcall/internal/must"
	"rollcall/results"
)

// ownMethod is the variable that gives the children of a test a method of their own, of this name.
const ownMethod = "ROLLCALL_TEST_METHOD"

func init() { // as a package would that adds a method to the program
	name := os.Getenv(ownMethod)
	if name == "" {
		return
	}
	algos.Register(algos.Definition{
		Name: name, Revision: 1,
		Later: []*algos.Param{{
			Name: name + "-share", Kind: algos.Number, Default: "1", AsBefore: "1", Range: algos.Between(0, 1),
			Help: "a parameter that came later",
		}},
		New: func(f algos.Federation, w0 []float32, o algos.Options) (algos.Method, error) {
			return algos.New("fedavg-active", f, w0, o)
		},
	})
}

// ratesOf returns flags with learning rates for a method that has none by default.
func ratesOf(method string) []string {
	s, err := settings.Defaults(method, "code", "leaf")
	if err != nil {
		panic(err)
	}
	if s.LR > 0 && s.ServerLR > 0 {
		return nil
	}
	return []string{"--lr", "0.05", "--server-lr", "1"}
}

// A method that is registered from outside of package algos is in the help, the completions and the checks, and trains
// alone, in a sweep, in a tuning and beside a table's methods. It has no default rates, and says so. Its later
// parameter moves no folder.
func TestOwnMethod(t *testing.T) {
	ofProcesses(t)
	out := t.TempDir()
	tiny := strings.Fields("--data leaf --rounds 3 --clients 4 --eval-every 1 --device cpu --out " + out)
	rates, file := filepath.Join(out, "tune", "rates.csv"), filepath.Join(out, "r.csv")
	must.OK(t, os.WriteFile(file, []byte("method,preset,data,net,availability,lr,server_lr\n"+
		"own,code,binary,linear-binary,markov,0.1,1\n"), 0o666))
	cafed1 := "table cafed-1 --methods ca-fed --also own --data binary --rounds 3 --clients 4 --seeds 3 --device cpu " +
		"--out " + out
	for _, c := range []struct {
		line   string
		status int
		want   string // in the output
	}{
		{"run --help", 0, strings.Join(algos.Names(), ", ") + ", own"},
		{"run --help", 0, "--own-share float a parameter"},
		{"__complete run --method ow", 0, "own :"},
		{"__complete sweep --methods ow", 0, "own :"},
		{"__complete tune --like ow", 0, "own :"},
		{"__complete table cafed-1 --also ow", 0, "own :"},
		{"run --method own", 2, "rollcall: own has no default learning rate: give --lr"},
		{"run --method own --lr 0.1", 2, "rollcall: own has no default server learning rate: give --server-lr"},
		{"run --method fedawe --lr 0", 2, "--lr 0: want a positive number"},
		{"sweep --methods fedawe,own", 2, "rollcall: own has no default learning rate: give --lr"},
		{"sweep --methods fedawe,own --lr 0.1", 2, "own has no default server learning rate: give --server-lr"},
		{"run --method own --lr 0.1 --server-lr 1", 0, "round 3: test acc"},
		{"run --method own --lr 0.1 --server-lr 1 --own-share 1", 0, "kept, finished before"},
		{"run --method own --lr 0.1 --server-lr 1 --own-share 0.5", 0, ": complete"},
		{"run --method fedawe --own-share 1", 2, "--own-share 1: of no use with --method fedawe"},
		{"sweep --methods fedawe,own --rates own=0.1/1 --seeds 3", 0, "own lr=0.1;server-lr=1"},
		{"tune --methods own --lrs 0.1 --server-lrs 1", 0, "own"},
		{"sweep --methods own --seeds 3 --rates " + rates, 0, "own"},
		{"run --method own --rates " + rates, 0, "kept, finished before"},
		{
			cafed1, 2, "own has no default learning rates: give --rates a file with rates of own (code) on binary, " +
				"linear-binary",
		},
		{cafed1 + " --rates " + file, 0, " own lr=0.1;server-lr=1 "},
	} {
		args := strings.Fields(c.line)
		if slices.Contains([]string{"run", "sweep", "tune"}, args[0]) && args[1] != "--help" {
			args = append(args, tiny...)
		}
		o := withEnv(t, []string{ownMethod + "=own"}, args...)
		if said := strings.Join(strings.Fields(o.stdout+o.stderr), " "); o.status != c.status ||
			!strings.Contains(said, c.want) { // help is wrapped anywhere
			t.Errorf("%s: status %d\n%s%s\nwant status %d, %q", c.line, o.status, o.stdout, o.stderr, c.status, c.want)
		}
	}
	runs, bad, err := results.FindRuns(t.Context(), filepath.Join(out, "run"))
	if err != nil || bad != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v, %v, want two", len(runs), bad, err)
	}
	for _, r := range runs {
		of, _ := r.Info.Settings.(map[string]any)
		if _, named := of["own-share"]; named != (r.Params.Get("own-share") != "") || r.Rounds() != 3 {
			t.Errorf("%s: own-share in run.json %t, params %q, %d rounds", r.Dir, named, r.Params, r.Rounds())
		}
	}
}
