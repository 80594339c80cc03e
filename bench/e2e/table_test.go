package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
)

// Rows of further methods stand behind the table's own, which stay as they are in every output, and are as those of a
// command without them.
func TestTableAlso(t *testing.T) {
	out := t.TempDir()
	line := func(more ...string) []string {
		return append(strings.Fields("table cafed-1 --data binary --rounds 3 --clients 4 --device cpu --seeds 3 --out "+
			out), more...)
	}
	path := filepath.Join(out, "cafed-1", results.SummaryFile)
	outputs := func() []string {
		return []string{
			contents(t, path), pass(t, "results", "compare", "cafed-1", out).stdout,
			pass(t, "results", "export", "cafed-1", out, "--printed", "--format", "csv").stdout,
			pass(t, "results", "scoreboard", out).stdout,
		}
	}
	pass(t, line()...)
	before := outputs()
	o := pass(t, line("--also", "scaffold,mifa")...)
	own := regexp.MustCompile(`(?m)^.*\b(scaffold|mifa)\b.*\n`)
	for i, after := range outputs() {
		if got := own.ReplaceAllString(after, ""); strings.Join(strings.Fields(got), " ") !=
			strings.Join(strings.Fields(before[i]), " ") { // columns of text may be wider
			t.Errorf("with further methods:\n%s\nwithout:\n%s", after, before[i])
		}
		if n := len(own.FindAllString(after, -1)); n != 2*3 && (i < 3 || n > 0) {
			t.Errorf("%d lines of further methods, want 2 methods × 3 metrics:\n%s", n, after)
		}
	}
	last := regexp.MustCompile(`(?m)^ca-fed .*\nscaffold +\d\S+ \(1\) \| –\nmifa +\d\S+ \(1\) \| –\n`)
	if n := len(last.FindAllString(o.stdout, -1)); n != 3 {
		t.Errorf("%d blocks that end with ca-fed, scaffold and mifa, want 3:\n%s", n, o.stdout)
	}
	_, rows := table(t, contents(t, path))
	before4, end := rows[len(rows)-4], rows[len(rows)-1]
	if before4["method"] != "scaffold" || end["method"] != "mifa" || end["paper_mean"] != "" {
		t.Errorf("last rows %v, %v, want those of scaffold and mifa, nothing printed", before4, end)
	}

	o = pass(t, line("--methods", "ca-fed", "--also", "mifa,fedau", "--plan")...)
	if want := "3 cells, 3 runs: 2 kept, 0 to resume, 1 to train\n"; !strings.Contains(o.stdout, want) {
		t.Errorf("%s\nwant %q", o.stdout, want)
	}
	o = pass(t, line("--methods", "ca-fed", "--also", "fedau", "--slurm", "--dry-run")...)
	if want := " --also=fedau "; !strings.Contains(strings.ReplaceAll(o.stdout, "'", ""), want) {
		t.Errorf("%s\nwant %q", o.stdout, want)
	}
	for also, want := range map[string]string{
		"ca-fed": "--also ca-fed: table cafed-1 has it already, want it with --methods, or not at all",
		"mifo":   `--also "mifo": unknown, did you mean mifa, want one of `,
	} {
		oneLineError(t, rollcall(t, line("--also", also)...), statusUsage, want)
	}
}

// A method from outside needs learning rates, of its own or of a file.
func TestTableAlsoOwnMethod(t *testing.T) {
	ofProcesses(t)
	out := t.TempDir()
	file := filepath.Join(out, "r.csv")
	must.OK(t, os.WriteFile(file, []byte("method,preset,data,net,availability,lr,server_lr\n"+
		"own,code,binary,linear-binary,markov,0.1,1\n"), 0o666))
	for _, c := range []struct {
		rates  string
		status int
		want   string // in the output
	}{
		{
			"", statusUsage,
			"own has no default learning rates: give --rates a file with rates of own (code) on binary, linear-binary",
		},
		{" --rates " + file, statusOK, "\nown lr=0.1;server-lr=1 "},
	} {
		o := withEnv(t, []string{ownMethod + "=own"}, strings.Fields("table cafed-1 --data binary --rounds 3 "+
			"--clients 4 --device cpu --seeds 3 --methods ca-fed --also own --out "+out+c.rates)...)
		if o.status != c.status || !strings.Contains(o.stdout+o.stderr, c.want) {
			t.Errorf("%q: status %d\n%s%s\nwant %d, %q", c.rates, o.status, o.stdout, o.stderr, c.status, c.want)
		}
	}
}
