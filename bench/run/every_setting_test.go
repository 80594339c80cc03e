package run

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rollcall/algos"
	"rollcall/bench/run/progress"
	"rollcall/bench/settings"
	"rollcall/bench/settings/settingstest"
	"rollcall/datasets"
	"rollcall/internal/must"
)

// unlike are the settings whose second value makes no other curve, and why.
var unlike = map[string]string{
	"trace-sample":      "of a file of four devices it takes the four; see TestSample in package availability",
	"eval-train-rounds": "the run with more evaluations is taken, see TestTrainRounds",
}

// contexts are settings beside the tiny run's own, so that one setting can show. Parameters of methods run with the
// first method that reads them, those of availability models with the first model.
var contexts = map[string]string{
	"eval-last":     "eval-every=10 eval-last=2 rounds=6",
	"weights":       "method=unbiased p=1 weights=equal",
	"init":          "method=fedavg-active",
	"availability":  "rounds=12 p=0.5",
	"leaf-gamma":    "data=leaf leaf-shared=true",
	"leaf-delta":    "data=leaf",
	"leaf-shared":   "data=leaf",
	"leaf-iid":      "data=leaf",
	"period":        "availability=staircase p=0.9",
	"gamma":         "availability=sine p=0.9",
	"cutoff":        "availability=interleaved-sine p=0.5",
	"low":           "availability=staircase p=0.9 period=4",
	"g":             "availability=markov data=leaf clients=12",
	"nu":            "availability=markov data=leaf clients=12",
	"epsilon":       "availability=markov data=leaf clients=12 rounds=12",
	"clusters":      "availability=clusters data=leaf clients=12 clusters=2",
	"classes":       "availability=markov data=leaf clients=12",
	"p-min":         "availability=uniform",
	"trace":         "availability=trace trace=A",
	"round-seconds": "availability=trace trace=A",
	"trace-end":     "availability=trace trace=A rounds=12 trace-end=empty",
	"q":             "availability=markov-q",
	"groups":        "availability=periodic groups=2 on=1",
	"on":            "availability=periodic groups=2 on=1",
	"sigma":         "availability=log-normal",
	"size-power":    "availability=data-size",
	"chain":         "availability=chain chain=C",
	"chain-sample":  "availability=chain chain=C",
	"trace-format":  "availability=trace trace=M trace-format=matrix",
	"trace-offset":  "availability=trace trace=A",
	"split-file":    "split-file=R",
	"population":    "p=1",
	"outages":       "p=1",
	"fedau-cutoff":  "p=0.3 rounds=8",
	"fedar-rho":     "p=0.3 rounds=8",
	"fedar-t0":      "p=0.3 rounds=8",
	"fedar-b":       "p=0.3 rounds=8 fedar-t0=1",
	"fedar-g":       "p=0.3 rounds=8 fedar-t0=1",
	"kappa":         "bias-const=none fstar=zero", // solving takes a second
	"bias-const":    "fstar=zero",
	"ca-fed-beta":   "fstar=zero",
	"ca-fed-tau":    "fstar=zero",
	"losses":        "fstar=zero",

	"leaf-augmentation": "availability=markov data=leaf clients=12",
}

// Every setting is of use: a run with another value of it has another curve.
func TestEverySettingMatters(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred runs are not for -short")
	}
	files := t.TempDir()
	for name, text := range map[string]string{
		"A": "0,0,9\n1,0,2\n2,2,9\n3,4,9\n",
		"B": "0,0,1\n1,1,9\n2,0,9\n3,3,9\n",
	} {
		must.OK(t, os.WriteFile(filepath.Join(files, name), []byte("client,start,end\n"+text), 0o666))
	}
	for name, text := range map[string]string{
		"C": "client,pi,lambda\n0,0.5,0\n1,0.9,0\n2,0.1,0\n3,0.5,0\n",
		"D": "client,to_active,to_inactive\n0,1,1\n1,1,1\n2,1,1\n3,1,1\n",
		"R": "client,index\n0,1\n1,2\n2,3\n3,4\n",
		"S": "client,index\n3,1\n0,2\n1,3\n2,4\n",
		"M": "1,0,1,1\n1,1,0,1\n0,1,0,0\n0,0,1,1\n",
	} {
		must.OK(t, os.WriteFile(filepath.Join(files, name), []byte(text), 0o666))
	}
	saveWeights(t, filepath.Join(files, "W"), "lenet5")
	session := &Session{
		Machine: Machine{Device: "cpu", Threads: runtime.GOMAXPROCS(0), Out: t.TempDir()}, Stderr: io.Discard,
	}
	defer session.Close() // the runs' errors are looked at
	curveOf := func(given map[string]string) (string, error) {
		return tinyCurve(t.Context(), session, given, files, 3)
	}
	for _, r := range settings.Rows() {
		t.Run(r.Name, func(t *testing.T) {
			if why, ok := unlike[r.Name]; ok {
				t.Skip(why)
			}
			base := contextOf(&r)
			first := must.Get(curveOf(base))(t)
			var tried []string
			for _, value := range settingstest.SecondValues(&r, base) {
				base[r.Name] = value
				second, err := curveOf(base)
				if err != nil {
					t.Fatalf("--%s %s: %v", r.Name, value, err)
				}
				if second != first {
					return
				}
				tried = append(tried, value)
			}
			t.Errorf("--%s %s: the same curve as without it, want another one", r.Name, strings.Join(tried, ", "))
		})
	}
}

// contextOf returns what the run of a setting has beside the tiny run's own settings.
func contextOf(r *settings.Row) map[string]string {
	given := map[string]string{}
	if r.Field == nil { // a method's own
		given["method"], given["data"], given["availability"] = r.Methods()[0], "leaf", "stationary"
		given["p"], given["clients"], given["rounds"], given["validation"] = "0.6", "12", "6", "0.25"
	}
	for setting := range strings.FieldsSeq(contexts[r.Name]) {
		name, value, _ := strings.Cut(setting, "=")
		given[name] = value
	}
	return given
}

// tinyCurve trains a run of seconds and returns its curve as text.
func tinyCurve(
	ctx context.Context, ses *Session, more map[string]string, files string, seed uint32,
) (string, error) {
	all := map[string]string{
		"method": "fedawe", "data": "synthetic", "net": "lenet5", "train-size": "80", "test-size": "20",
		"clients": "4", "rounds": "4",
		"local-steps": "2", "batch": "8", "eval-every": "1", "lr": "0.05",
	}
	maps.Copy(all, more)
	if all["data"] == "leaf" {
		about, err := datasets.About("leaf")
		if err != nil {
			return "", err
		}
		all["net"] = about.Net
		delete(all, "train-size")
		delete(all, "test-size")
	}
	if all["swap-pairs"] != "" {
		delete(all, "split")
	}
	if all["local-epochs"] != "" && all["local-epochs"] != "none" {
		delete(all, "local-steps")
	}
	for _, name := range []string{"trace", "chain", "init-from", "split-file"} {
		if file := all[name]; file != "" {
			all[name] = filepath.Join(files, file)
		}
	}
	var given settings.Given
	for name, value := range all {
		given = append(given, algos.Setting{Name: name, Value: value})
	}
	s, err := settings.Resolve(given)
	if err != nil {
		return "", err
	}
	x := Experiment{Table: "run", Settings: s, Seed: seed, Dir: Folder(ses.Machine.Out, "run", s, seed)}
	rows, err := do(ctx, &x, ses, progress.New(io.Discard).Run("test", progress.Work{}))
	var curve strings.Builder
	for _, r := range rows {
		fmt.Fprintln(&curve, r.Round, r.Active, r.LR, r.TrainLoss, r.TrainAcc, r.TestLoss, r.TestAcc)
	}
	return curve.String(), err
}
