package e2e

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/resultstest"
)

func TestFiguresWithoutTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	for id, args := range map[string][]string{
		"fedawe-f2": nil,
		"fedawe-f5": {"--data", "synthetic", "--clients", "20"},
		"fedawe-f6": {"--rounds", "30"},
	} {
		t.Run(id, func(t *testing.T) {
			out := t.TempDir()
			o := pass(t, append([]string{"figure", id, "--out", out}, args...)...)
			base := filepath.Join(out, id, id)
			if !strings.Contains(o.stdout, base+".csv") || !strings.Contains(o.stdout, base+".svg") {
				t.Errorf("stdout %q, want both files named", o.stdout)
			}
			if svg := contents(t, base+".svg"); !strings.Contains(svg, "<svg") ||
				!strings.HasSuffix(strings.TrimSpace(svg), "</svg>") {
				t.Errorf("%s.svg is no SVG", base)
			}
			_, rows := table(t, contents(t, base+".csv"))
			if id == "fedawe-f6" && len(rows) != 4*3*30 {
				t.Errorf("%d rows, want 360: four processes, three clients, 30 rounds", len(rows))
			}
			if id == "fedawe-f5" {
				clients := 0.0
				for _, r := range rows {
					clients += number(t, r["count"])
				}
				if clients != 20 {
					t.Errorf("%g clients in the histogram, want 20", clients)
				}
			}
		})
	}
}

// Figure 7's cells are those of Table 2 under sine: what the table has run, the figure keeps, and the other way round.
func TestFigureSharesRunsWithTable(t *testing.T) {
	data, out := t.TempDir(), t.TempDir()
	writeTinyData(t, data)
	common := []string{
		"--data", "svhn", "--methods", "mifa", "--rounds", "1", "--clients", "3", "--seeds", "5",
		"--data-dir", filepath.Join(data, "data"), "--allow-altered", "--out", out,
	}
	pass(t, append([]string{"figure", "fedawe-f7"}, common...)...)
	_, rows := table(t, contents(t, filepath.Join(out, "fedawe-f7", "fedawe-f7.csv")))
	if len(rows) != 2 || rows[0]["round"] != "0" || rows[1]["round"] != "1" {
		t.Errorf("rows %v, want rounds 0 and 1 of one method", rows)
	}
	o := pass(t, append([]string{"table", "fedawe-2", "--availability", "sine"}, common...)...)
	if !strings.Contains(o.stderr, "1 finished run kept") {
		t.Errorf("stderr %q, want the figure's run kept", o.stderr)
	}
}

func TestCompare(t *testing.T) {
	// The paper prints 85.6 ± 0.9 over 3 seeds; ours is 84.6 ± 0.9 over 3: within 2·√(2·0.009²/3) = 0.0147.
	out := onSVHN(t, 2000, 0.837, 0.846, 0.855)
	for _, dir := range []string{out, filepath.Join(out, "fedawe-2")} {
		text := pass(t, "results", "compare", "fedawe-2", dir).stdout
		if !strings.Contains(text, "84.6 ± 0.9") || !strings.Contains(text, "85.6 ± 0.9") ||
			!strings.Contains(text, "within") {
			t.Errorf("%s: %q, want both numbers and the verdict within", dir, text)
		}
	}
	_, rows := table(t, pass(t, "results", "compare", "fedawe-2", out, "--format", "csv").stdout)
	for _, r := range rows {
		if r["method"] != "fedawe" || r["metric"] != "test_acc" {
			continue
		}
		if d := number(t, r["difference"]); math.Abs(d+0.01) > 1e-12 || r["verdict"] != "within" {
			t.Errorf("difference %g, verdict %q, want −0.01 and within", d, r["verdict"])
		}
	}
	text := pass(t, "results", "compare", "fedawe-2", out, "--format", "markdown").stdout
	if !strings.Contains(text, "| fedawe |") {
		t.Errorf("%q is no Markdown table", text)
	}
}

// onSVHN writes finished runs of fedawe in Table 2 of FedAWE, one for each of the last accuracies, and returns where.
func onSVHN(t *testing.T, rounds int, accuracies ...float64) (out string) {
	t.Helper()
	out = t.TempDir()
	s := must.Get(settings.Defaults("fedawe", "code", "svhn"))(t)
	s.Availability = "sine"
	for i, acc := range accuracies {
		row := results.CurveRow{
			Cell: s.Cell("fedawe-2"), Seed: uint32(3 + i), TestAcc: files.Some(0.1), TrainAcc: files.Some(0.1),
			TrainLoss: files.Some(2), Engine: "cpu-avx2", Precision: "fp32", Version: "v1",
		}
		last := row
		last.Round, last.TestAcc, last.TrainAcc = rounds, files.Some(acc), files.Some(acc+0.01)
		resultstest.WriteCurve(t, out, []results.CurveRow{row, last}, rounds,
			results.RunInfo{Status: results.RunComplete, Numerics: "cpu-fp32", DataChecksum: results.OfFiles("0")})
	}
	return out
}
