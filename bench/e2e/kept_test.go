package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/resultstest"
)

// doctored writes the runs below out anew as if they had come about otherwise, with checksums that are right.
func doctored(t *testing.T, out string, change func(info *results.RunInfo, row *results.CurveRow)) {
	t.Helper()
	runs, bad, err := results.FindRuns(t.Context(), out)
	if err != nil || len(bad) > 0 || len(runs) == 0 {
		t.Fatalf("%d runs, %v, %v, want some", len(runs), bad, err)
	}
	for _, r := range runs {
		for i := range r.Curve {
			change(r.Info, &r.Curve[i])
		}
		must.OK(t, results.WriteCurve(filepath.Join(r.Dir, results.CurveFile), r.Curve))
		resultstest.Sign(t, r.Dir, *r.Info)
	}
}

// What was computed by other code, on other engines or from other data is not taken for what would be computed now.
func TestKeptRuns(t *testing.T) {
	revision := func(of func(r *results.Revisions) *int) func(*results.RunInfo, *results.CurveRow) {
		return func(info *results.RunInfo, _ *results.CurveRow) { *of(&info.Revisions) = 77 }
	}
	for name, c := range map[string]struct {
		change func(info *results.RunInfo, row *results.CurveRow)
		said   string
		status int
	}{
		"as it is": {func(*results.RunInfo, *results.CurveRow) {}, "1 finished run kept", statusOK},
		"another version": {
			func(info *results.RunInfo, row *results.CurveRow) { info.Version, row.Version = "v0.1", "v0.1" },
			"finished runs of rollcall v0.1 are kept, this is devel (--again trains them again)", statusOK,
		},
		"another device": {
			func(info *results.RunInfo, row *results.CurveRow) {
				info.Device, info.Engine, row.Engine = "another", "cpu-avx512", "cpu-avx512"
			},
			"1 finished run kept", statusOK,
		},
		"method": {
			revision(func(r *results.Revisions) *int { return &r.Method }),
			"method revision 77, want 2; 2 rounds, ", statusFailure,
		},
		"process": {
			revision(func(r *results.Revisions) *int { return &r.Process }),
			"availability model revision 77, want 1; 2 rounds, ", statusFailure,
		},
		"data": {
			revision(func(r *results.Revisions) *int { return &r.Data }),
			"data revision 77, want 2; 2 rounds, ", statusFailure,
		},
		"net": {
			revision(func(r *results.Revisions) *int { return &r.Net }),
			"net revision 77, want 1; 2 rounds, ", statusFailure,
		},
		"engine": {
			revision(func(r *results.Revisions) *int { return &r.Engine }),
			"engine revision 77, want 1; 2 rounds, ", statusFailure,
		},
		"numerics": {
			func(info *results.RunInfo, row *results.CurveRow) {
				info.Numerics, info.Engine, row.Engine = "cuda-sm90-tf32", "cuda-sm90", "cuda-sm90"
			},
			"seed 3: numerics cuda-sm90-tf32, want cpu-", statusFailure,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			line := []string{
				"sweep", "--methods", "mifa", "--data", "leaf", "--clients", "4", "--rounds", "2", "--eval-every", "1",
				"--local-steps", "1", "--batch", "4", "--seeds", "3", "--device", "cpu", "--out", out,
			}
			pass(t, line...)
			path := only(t, out, "sweep/*/seed-3/run.json")
			want := timelessTree(t, filepath.Dir(path))
			doctored(t, out, c.change)
			pass(t, "results", "verify", out)
			before := contents(t, path)
			o := rollcall(t, line...)
			if o.status != c.status || !strings.Contains(o.stderr, c.said) {
				t.Errorf("status %d, %q, want %d and %q", o.status, o.stderr, c.status, c.said)
			}
			if contents(t, path) != before {
				t.Error("the run was changed, want it left alone")
			}
			if c.status == statusOK {
				return
			}
			_, rows := table(t, contents(t, filepath.Join(out, "sweep", results.SummaryFile)))
			if r := rows[0]; r["status"] != string(results.CellRefused) || !strings.Contains(r["error"], c.said) ||
				!strings.Contains(o.stderr, ": 1 run refused, whose folders stay as they are: --replace moves") {
				t.Errorf("%v, %q, want why the run is refused, and the ways out", r, o.stderr)
			}
			if mixed := rollcall(t, append(line, "--mixed", "--seeds", "4")...); name != "numerics" {
				if mixed.status != statusFailure || !strings.Contains(mixed.stderr, c.said) {
					t.Errorf("--mixed: status %d, %q, want it refused", mixed.status, mixed.stderr)
				}
			} else {
				isMixed(t, out, mixed)
			}
			pass(t, append(line, "--replace")...)
			aside := filepath.Join(filepath.Dir(path), ".old")
			if got := contents(t, filepath.Join(aside, results.RunFile)); got != before {
				t.Errorf("--replace: aside is %s, want the old run", got)
			}
			must.OK(t, os.RemoveAll(aside))
			sameTree(t, "--replace", timelessTree(t, filepath.Dir(path)), want)
		})
	}
}

// isMixed holds a sweep over two seeds of other numerics to saying so.
func isMixed(t *testing.T, out string, mixed outcome) {
	t.Helper()
	if mixed.status != statusOK || !strings.Contains(mixed.stdout, "[mixed: cpu-") ||
		!strings.Contains(mixed.stdout, "and cuda-sm90-tf32]") {
		t.Errorf("--mixed: status %d, %s\nwant what is mixed", mixed.status, mixed.stdout)
	}
	_, rows := table(t, contents(t, filepath.Join(out, "sweep", results.SummaryFile)))
	for _, r := range rows {
		if r["status"] != "mixed" || r["n"] != "2" || r["numerics"] != "mixed" ||
			!strings.HasSuffix(r["engine"], results.And+"cuda-sm90") {
			t.Errorf("%v, want two seeds, mixed", r)
		}
	}
}
