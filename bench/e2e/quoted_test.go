package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results"
)

// hostile is a text that clears the screen, rings, turns letters around and overwrites a line, if it is let.
const hostile = "\x1b[2J\x1b[31mPWN\a\u009b7m\u202e\r\x7f"

// inertText reports the first thing in a text that acts on a terminal.
func inertText(t *testing.T, what, text string) {
	t.Helper()
	for at, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) || r == utf8.RuneError {
			t.Errorf("%s: %q at byte %d of %q", what, r, at, text[max(0, at-60):min(len(text), at+60)])
			return
		}
	}
}

// hostileRun trains a sweep below out, writes hostile texts into all
// of its files that may have any text. It returns the folder of its cell.
func hostileRun(t *testing.T, out string, status results.RunStatus, text string) (cell string) {
	t.Helper()
	pass(t, smallSweep(out, "--methods", "fedawe", "--seeds", "3,4")...)
	for _, path := range filesBelow(t, out) { // Glob would take the folder's name for a pattern
		if filepath.Base(path) != results.RunFile {
			continue
		}
		cell = filepath.Dir(filepath.Dir(path))
		info := must.Get(results.ReadRunInfo(path))(t)
		info.Status, info.Error, info.Traceback = status, text, text+"\n"+text
		info.Device, info.GoVersion, info.Runtime = text, text, map[string]string{"numpy": text, text: "1"}
		must.OK(t, results.WriteRunInfo(path, info, nil))
	}
	summary := filepath.Join(out, "sweep", results.SummaryFile)
	rows := must.Get(results.ReadSummary(summary))(t)
	for i := range rows {
		rows[i].Error, rows[i].Device = text, text
	}
	must.OK(t, results.WriteSummary(summary, rows))
	return cell
}

// Nothing that is read from a folder of results acts on a terminal, a page, a spreadsheet or LaTeX: every command that
// shows results is tried, in every format.
func TestHostileTexts(t *testing.T) {
	for _, status := range []results.RunStatus{results.RunComplete, results.RunFailed, results.RunDiverged} {
		for _, text := range []string{hostile, "=cmd|' /C calc'!A0\x1b]0;x\a", `\input{x}%$&` + "\x1b[1m"} {
			top := t.TempDir()
			out := filepath.Join(top, "out"+strings.ReplaceAll(hostile, "\a", "")) // a folder may be called so, too
			cell := hostileRun(t, out, status, text)
			bench := filepath.Join(out, results.BenchFile)
			must.OK(t, results.AppendBench(bench, results.BenchRow{
				Version: "1", Data: "leaf", Net: "linear-synthetic", Engine: "cpu-avx2", Precision: "fp32",
				Device: text,
			}))
			for _, line := range [][]string{
				{"results", "list", out},
				{"results", "list", "--failed", out},
				{"results", "list", "--format", "csv", out},
				{"results", "list", "--format", "json", out},
				{"results", "verify", out},
				{"results", "verify", "--format", "json", out},
				{"results", "show", cell},
				{"results", "curves", out},
				{"results", "curves", "--settings", out},
				{"results", "export", "sweep", out, "--format", "csv"},
				{"results", "export", "sweep", out, "--format", "markdown"},
				{"results", "export", "sweep", out, "--format", "latex"},
				{"results", "compare", "fedawe-2", out},
				{"results", "diff", out, out},
				{"results", "diff", out, out, "--format", "csv"},
				{"results", "merge", out, "--out", filepath.Join(top, "into")},
				{"results", "recheck", out, "--minutes", "0.01", "--report", filepath.Join(top, "page.md")},
				{"report", out, "--to", filepath.Join(top, "page")},
				{"run", "--method", "fedawe", "--data", "leaf", "--out", filepath.Join(out, "sweep/summary.csv")},
				append([]string{"table", "cafed-1"}, "--plan", "--data", "leaf", "--out", out),
				smallSweep(out, "--methods", "fedawe", "--seeds", "3,4"),
			} {
				o := rollcall(t, line...)
				inertText(t, strings.Join(line[:2], " ")+": stdout", o.stdout)
				inertText(t, strings.Join(line[:2], " ")+": stderr", o.stderr)
				inertFormat(t, line, o.stdout)
			}
			for _, path := range filesBelow(t, filepath.Join(top, "page")) {
				switch filepath.Ext(path) {
				case ".html", ".csv", ".svg", ".json":
					inertText(t, filepath.Base(path), contents(t, path))
				}
				if filepath.Ext(path) == ".csv" {
					inertCells(t, filepath.Base(path), contents(t, path))
				}
			}
			for _, path := range []string{"page.md", "into/bench.csv", "into/sweep/summary.csv"} {
				if text, err := os.ReadFile(filepath.Join(top, path)); err == nil {
					inertText(t, path, string(text))
				}
			}
		}
	}
}

// inertFormat checks an output by its format.
func inertFormat(t *testing.T, line []string, stdout string) {
	t.Helper()
	switch what := strings.Join(line[:2], " "); {
	case slices.Contains(line, "csv"), what == "results curves":
		inertCells(t, what, stdout)
	case slices.Contains(line, "latex"):
		if strings.Contains(stdout, `\input`) {
			t.Errorf("%s: %q has the command", what, stdout)
		}
	}
}

// inertCells reports a cell that a spreadsheet computes.
func inertCells(t *testing.T, what, text string) {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	for _, record := range records {
		for _, cell := range record {
			if cell != files.CSVText(cell) && !strings.HasPrefix(cell, "'") {
				t.Errorf("%s: cell %q", what, cell)
			}
		}
	}
}

// Names on the command line, of files and folders that are found, in archives, and what a server says are quoted in
// errors and in the log.
func TestHostileNamesInMessages(t *testing.T) {
	top := t.TempDir()
	odd := filepath.Join(top, "odd"+hostile)
	must.OK(t, os.MkdirAll(odd, 0o777))
	must.OK(t, os.WriteFile(filepath.Join(odd, "trace.csv"), []byte("client,"+hostile+",end\n"), 0o666))
	tree := filepath.Join(top, "tree/CINIC-10")
	for _, part := range []string{"train", "test"} {
		for _, class := range []string{
			"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck", "PWN" + hostile,
		} {
			must.OK(t, os.MkdirAll(filepath.Join(tree, part, class), 0o777))
		}
	}
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	w := tar.NewWriter(z)
	name := "train/PWN" + strings.ReplaceAll(hostile, "\x7f", "") + "/a.png"
	must.OK(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644}))
	must.OK(t, w.Close())
	must.OK(t, z.Close())
	packed := filepath.Join(top, "packed")
	must.OK(t, os.MkdirAll(packed, 0o777))
	must.OK(t, os.WriteFile(filepath.Join(packed, "CINIC-10.tar.gz"), archive.Bytes(), 0o666))
	for name, line := range map[string][]string{
		"path of results":    {"results", "list", filepath.Join(odd, "none")},
		"trace's columns":    smallRun(top, "--availability", "trace", "--trace", filepath.Join(odd, "trace.csv")),
		"trace that is none": smallRun(top, "--availability", "trace", "--trace", filepath.Join(odd, "none")),
		"weights":            smallRun(top, "--init-from", filepath.Join(odd, "trace.csv")),
		"rates":              {"sweep", "--rates", filepath.Join(odd, "trace.csv"), "--data", "leaf", "--out", top},
		"method":             {"run", "--method", "a" + hostile},
		"file of a method":   {"run", "--method", filepath.Join(odd, "none.py")},
		"flag":               {"run", "--odd" + hostile},
		"command":            {"odd" + hostile},
		"argument":           {"data", "verify", "odd" + hostile},
		"folder of data":     {"data", "verify", "mnist", "--data-dir", odd},
		"list of data":       {"data", "list", "--data-dir", odd},
		"folder of a class":  {"data", "verify", "cinic10", "--data-dir", filepath.Join(top, "tree")},
		"name in an archive": {"data", "verify", "cinic10", "--data-dir", packed},
		"output":             smallRun(filepath.Join(odd, "trace.csv", "below")),
		"run in there":       smallRun(odd),
		"page":               {"report", odd, "--to", filepath.Join(odd, "page")},
		"availability":       {"availability", "--kind", "sine", "--rounds", "2", "--csv", filepath.Join(odd, "a.csv")},
		"history":            {"track", "status", "--history", odd},
		"card":               smallRun(top, "--device", "cuda:"+hostile),
	} {
		o := rollcall(t, line...)
		inertText(t, name+": stdout", o.stdout)
		inertText(t, name+": stderr", o.stderr)
		if strings.Contains(o.stderr, "panic") {
			t.Errorf("%s: %s", name, o.stderr)
		}
		if o.status != statusOK && !strings.Contains(o.stderr, "rollcall: ") {
			t.Errorf("%s: status %d, %q, want a line", name, o.status, o.stderr)
		}
	}
}

// A server's words are quoted, too: SVHN comes by plain http, on which anybody may answer.
func TestHostileServer(t *testing.T) {
	for name, answer := range map[string]string{
		"status":   "HTTP/1.1 500 " + strings.ReplaceAll(hostile, "\r", "") + "\r\nContent-Length: 0\r\n\r\n",
		"protocol": "HTTP/" + hostile + "\r\n\r\n",
		"header":   "HTTP/1.1 200 OK\r\nContent-Length: \x1b[31m7\r\n\r\n",
		"redirect": "HTTP/1.1 302 Found\r\nLocation: http://ufldl.stanford.edu/\x1b[31m\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack() //nolint:forcetypeassert // that of net/http is one
				if err == nil {
					_, _ = conn.Write([]byte(answer))
					_ = conn.Close()
				}
			}))
			defer proxy.Close()
			o := withEnv(t, []string{"HTTP_PROXY=" + proxy.URL, "http_proxy=" + proxy.URL, "NO_PROXY=", "no_proxy="},
				"data", "fetch", "svhn", "--data-dir", t.TempDir())
			if o.status != statusFailure || !strings.Contains(o.stderr, "unavailable") {
				t.Errorf("status %d, %q, want 1 and that it is unavailable", o.status, o.stderr)
			}
			inertText(t, name, o.stdout+o.stderr)
		})
	}
}
