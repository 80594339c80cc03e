//go:build unix

package e2e

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
	"rollcall/results"
	"rollcall/results/resultstest"
)

// of chooses the run of a method.
func (c *corrupt) of(pattern string) *corrupt {
	c.dir = only(c.t, c.out, pattern)
	return c
}

func (c *corrupt) path(name string) string { return filepath.Join(c.dir, name) }

// seed is the folder of another seed.
func (c *corrupt) seed(name string) string { return filepath.Join(filepath.Dir(c.dir), name) }

func (c *corrupt) check(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		c.t.Fatal(err)
	}
}

// text changes a file as a text.
func (c *corrupt) text(name string, edit func(string) string) {
	before := contents(c.t, c.path(name))
	after := edit(before)
	if after == before {
		c.t.Fatalf("%s: not changed", name)
	}
	c.check(os.WriteFile(c.path(name), []byte(after), 0o666))
}

// rows changes the records of curve.csv, its header the first.
func (c *corrupt) rows(edit func(r [][]string) [][]string) {
	c.text(results.CurveFile, func(text string) string {
		records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		c.check(err)
		var b bytes.Buffer
		c.check(csv.NewWriter(&b).WriteAll(edit(records)))
		return b.String()
	})
}

// put writes a value into a column of curve.csv: into the line of a round, 0 … 4, or into all (−1).
func (c *corrupt) put(round int, column, value string) {
	c.rows(func(r [][]string) [][]string {
		for i, name := range r[0] {
			for line := 1; name == column && line < len(r); line++ {
				if round < 0 || line == round+1 {
					r[line][i] = value
				}
			}
		}
		return r
	})
}

// info changes run.json.
func (c *corrupt) info(edit func(m map[string]any)) {
	c.text(results.RunFile, func(text string) string {
		var m map[string]any
		in := json.NewDecoder(strings.NewReader(text))
		in.UseNumber()
		c.check(in.Decode(&m))
		edit(m)
		out, err := json.MarshalIndent(m, "", "  ")
		c.check(err)
		return string(out)
	})
}

// set changes a field of run.json.
func (c *corrupt) set(field string, value any) {
	c.info(func(m map[string]any) { m[field] = value })
}

// forge makes all checksums anew, as only somebody does who means it: what is wrong has to be found without them.
func (c *corrupt) forge() {
	var info results.RunInfo
	in := json.NewDecoder(strings.NewReader(contents(c.t, c.path(results.RunFile))))
	in.UseNumber()
	c.check(in.Decode(&info), results.WriteRunInfo(c.path(results.RunFile), info, resultstest.Beside(c.t, c.dir)))
}

// setting changes a setting in run.json.
func (c *corrupt) setting(name string, value any) {
	c.info(func(m map[string]any) { m["settings"].(map[string]any)[name] = value })
}

// without drops a field of run.json.
func (c *corrupt) without(field string) { c.info(func(m map[string]any) { delete(m, field) }) }

// whole replaces a file.
func (c *corrupt) whole(name, text string) { c.text(name, func(string) string { return text }) }

// crlf ends the lines of a file as on other systems.
func (c *corrupt) crlf(name string) {
	c.text(name, func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") })
}

// from takes a file of another run.
func (c *corrupt) from(pattern, name string) {
	c.check(os.WriteFile(c.path(name), []byte(contents(c.t, only(c.t, c.out, pattern))), 0o666))
}

// number changes a digit at the end of a file.
func (c *corrupt) number(name string) {
	c.text(name, func(s string) string { return strings.TrimSuffix(s, "\n") + "1\n" })
}

// drop leaves a round out of curve.csv.
func (c *corrupt) drop(round int) {
	c.rows(func(r [][]string) [][]string { return append(r[:round+1:round+1], r[round+2:]...) })
}

// copyTree copies a folder.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	must.OK(t, errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(from))))
}
