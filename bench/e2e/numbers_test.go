package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// Numbers are decimal, whatever reads them: 010 is ten, and what only source code takes for a number is refused.
func TestDecimalNumbers(t *testing.T) {
	for name, c := range map[string]struct{ flags, folders string }{
		"seed":        {"run --method mifa --seed 010", "run/*/seed-10"},
		"seed 08":     {"run --method mifa --seed 08", "run/*/seed-8"},
		"seeds":       {"sweep --methods mifa --seeds 010,011-012", "sweep/*/seed-1[012]"},
		"rounds":      {"run --method mifa --rounds 003", "run/*/seed-3"},
		"table's own": {"table cafed-1 --methods ca-fed --data binary --rounds 03 --seeds 07", "cafed-1/*/seed-7"},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			words := strings.Fields(c.flags)
			if words[0] == "table" {
				pass(t, append(words, "--device", "cpu", "--out", out)...)
			} else {
				pass(t, append(words[:1:1], append(smallSweep(out)[1:], words[1:]...)...)...)
			}
			if n := len(must.Get(filepath.Glob(filepath.Join(out, filepath.FromSlash(c.folders))))(t)); n == 0 {
				t.Errorf("%s: no %s", c.flags, c.folders)
			}
		})
	}
	out := t.TempDir()
	pass(t, smallRun(out, "--batch", "010", "--rounds", "012", "--local-steps", "+2", "--lr", "00.1")...)
	text := contents(t, only(t, out, runPath))
	for _, want := range []string{`"batch": 10,`, `"rounds": 12,`, `"local-steps": 2,`, `"lr": 0.1,`} {
		if !strings.Contains(text, want) {
			t.Errorf("run.json: %s, want %s", text, want)
		}
	}
}

// The line names the flag and says what is wanted.
func TestNoDecimalNumbers(t *testing.T) {
	const whole, number = "want a whole number", "want a number"
	for _, c := range []struct{ line, want string }{
		{"run --method mifa --seed 0x10", `--seed "0x10": ` + whole},
		{"run --method mifa --seed 0b1", `--seed "0b1": ` + whole},
		{"run --method mifa --seed 0o7", `--seed "0o7": ` + whole},
		{"run --method mifa --seed 1_0", `--seed "1_0": ` + whole},
		{"run --method mifa --rounds 0x10", `--rounds "0x10": ` + whole},
		{"run --method mifa --batch 1_0", `--batch "1_0": ` + whole},
		{"run --method mifa --threads 0x1", `--threads "0x1": ` + whole},
		{"run --method mifa --lr 1_0", `--lr "1_0": ` + number},
		{"run --method mifa --lr 0x1p-2", `--lr "0x1p-2": ` + number},
		{"run --method mifa --p 0X1P-1", `--p "0X1P-1": ` + number},
		{"run --method mifa --seed-split 1_0", `--seed-split "1_0": ` + number},
		{"sweep --methods mifa --pack 0x2", `--pack "0x2": ` + whole},
		{"sweep --methods mifa --seeds 0x3", `--seeds "0x3": want seeds`},
		{"sweep --methods mifa --seeds 3-1_0", `--seeds "3-1_0": want seeds`},
		{"sweep --methods mifa --rates mifa=1_0", `--rates "mifa=1_0": want one or two positive numbers`},
		{"table fedawe-2 --rounds 1_0", `--rounds "1_0": ` + whole},
		{"tune --methods mifa --lrs 0.1,1_0", `--lrs "0.1,1_0": want numbers`},
		{"bench --max-seconds 1_0", `--max-seconds "1_0": ` + number},
		{"availability --rounds 0x3", `--rounds "0x3": ` + whole},
		{"results power --difference 0x1 x", `--difference "0x1": ` + number},
		{"results export sweep x --metric rounds_to_2_0", "rounds_to_2_0"},
	} {
		o := rollcall(t, strings.Fields(c.line)...)
		oneLineError(t, o, statusUsage, c.want)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"trace": "client,start,end\n0,0,1_0\n", "rates": ratesFile("0.1", "1_0"), "hex": ratesFile("0x1p-3", "1"),
	} {
		path := filepath.Join(dir, name+".csv")
		must.OK(t, os.WriteFile(path, []byte(text), 0o666))
		flags := []string{"--rates", path}
		if name == "trace" {
			flags = []string{"--availability", "trace", "--trace", path}
		}
		o := rollcall(t, smallRun(t.TempDir(), flags...)...)
		if o.status == statusOK || !strings.Contains(o.stderr, "line 2") {
			t.Errorf("%s: status %d, %q, want an error in line 2", name, o.status, o.stderr)
		}
	}
}

// ratesFile returns a file of rates for smallRun.
func ratesFile(lr, serverLR string) string {
	return "method,preset,data,net,availability,lr,server_lr\n" +
		"mifa,code,leaf,linear-synthetic,stationary," + lr + "," + serverLR + "\n"
}

// Spaces around the values of a list are no part of them, and do not hide a value that is there twice.
func TestListsWithSpaces(t *testing.T) {
	out := t.TempDir()
	pass(t, smallSweep(out, "--methods", "mifa, fedau", "--seeds", " 3, 5 - 6 ", "--availability", "stationary ,sine",
		"--rates", "mifa=0.1, fedau=0.2/1", "--metric", "final, best")...)
	if dirs := must.Get(filepath.Glob(filepath.Join(out, "sweep", "*", "seed-[356]")))(t); len(dirs) != 12 {
		t.Errorf("%d runs, want 12: %q", len(dirs), dirs)
	}
	tuned := t.TempDir()
	words := smallSweep(tuned, "--methods", " mifa", "--lrs", "0.1, 0.01", "--server-lrs", "1 ,0.5", "--seeds", "1001")
	pass(t, append([]string{"tune"}, words[1:]...)...)
	_, rows := table(t, contents(t, filepath.Join(tuned, "tune", "trials.csv")))
	var rates []string
	for _, r := range rows {
		rates = append(rates, r["lr"]+"/"+r["server_lr"])
	}
	for _, want := range []string{"0.1/1", "0.1/0.5", "0.01/1", "0.01/0.5"} {
		if !slices.Contains(rates, want) {
			t.Errorf("trials of %q, want %s", rates, want)
		}
	}
	for _, c := range []struct{ flag, list, want string }{
		{"--methods", "mifa, mifa", "--methods: mifa twice"},
		{"--seeds", "3, 3", "--seeds: 3 twice"},
		{"--methods", "mifa, ", `--methods "": unknown`},
		{"--seeds", "3,, 4", "want seeds"},
		{"--seeds", "3 4", "want seeds"},
	} {
		oneLineError(t, rollcall(t, smallSweep(out, "--methods", "fedau", c.flag, c.list)...), statusUsage, c.want)
	}
}
