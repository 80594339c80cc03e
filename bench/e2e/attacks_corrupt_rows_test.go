//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"rollcall/results"
)

// corruptions stand by name: 1 to 4 of folders, then of run.json, of curve.csv, of the files beside them.
var corruptions = slices.Concat([]corruption{
	{
		name: "seed copied over another", named: "seed 3, want 4",
		do: func(c *corrupt) { copyTree(c.t, c.seed("seed-3"), c.dir) },
	},
	{name: "cell copied over another's", named: "the folder is", do: func(c *corrupt) {
		copyTree(c.t, filepath.Dir(only(c.t, c.out, "sweep/mifa_*/seed-4")), filepath.Dir(c.dir))
	}},
	{name: "backup of a seed beside it", want: harmless, again: "3 finished runs kept", do: func(c *corrupt) {
		copyTree(c.t, c.dir, c.seed("seed-4.bak"))
	}},
	{
		name: "seed edited everywhere, checksums anew", want: twin, named: "same numbers", again: "same numbers",
		do: func(c *corrupt) {
			copyTree(c.t, c.seed("seed-3"), c.dir)
			c.put(-1, "seed", "4")
			c.set("seed", 4)
			c.forge()
		},
	},
	{
		name: "seed and engine edited everywhere, checksums anew", want: twin, named: "same numbers",
		again: "same numbers", do: func(c *corrupt) {
			copyTree(c.t, c.seed("seed-3"), c.dir)
			c.put(-1, "seed", "4")
			c.put(-1, "engine", "cpu-of-another")
			c.set("seed", 4)
			c.set("engine", "cpu-of-another")
			c.forge()
		},
	},
	{name: "temporary file of a killed run", want: harmless, again: "kept", do: func(c *corrupt) {
		c.check(os.WriteFile(c.path(".rollcall-ABC.tmp"), []byte("table,"), 0o666))
	}},

	{name: "run.json: seed", named: "run.json", do: func(c *corrupt) { c.set("seed", 77) }},
	{name: "run.json: seed, checksums anew", named: "run.json", do: func(c *corrupt) { c.set("seed", 77); c.forge() }},
	{name: "both: seed, checksums anew", named: "seed 77, want 4", do: func(c *corrupt) {
		c.put(-1, "seed", "77")
		c.set("seed", 77)
		c.forge()
	}},
	{name: "run.json: a setting", named: "settings_hash", do: func(c *corrupt) { c.setting("lr", json.Number("0.2")) }},
	{
		name: "run.json: a setting and the hash", named: "run.json",
		do: func(c *corrupt) { c.setting("batch", 7); c.forge() },
	},
	{name: "run.json: rounds", named: "run.json", do: func(c *corrupt) { c.set("rounds", 3) }},
	{
		name: "run.json: rounds, checksums anew", named: "complete after 3 rounds",
		do: func(c *corrupt) { c.set("rounds", 3); c.forge() },
	},
	{name: "run.json: failed called complete", named: "complete after 3 rounds", do: func(c *corrupt) {
		c.drop(4)
		c.set("rounds", 3)
		c.forge()
	}},
	{name: "run.json: complete called failed", named: "run.json", do: func(c *corrupt) { c.set("status", "failed") }},
	{
		name: "run.json: a status that is none", named: "run.json: status",
		do: func(c *corrupt) { c.set("status", "done") },
	},
	{name: "run.json: schema 3", named: "schema 3, want", do: func(c *corrupt) { c.set("schema", 3) }},
	{name: "run.json: schema 0", named: "schema 0, want", do: func(c *corrupt) { c.set("schema", 0) }},
	{name: "run.json: schema as text", named: "run.json", do: func(c *corrupt) { c.set("schema", "2") }},
	{
		name: "run.json: schema 1", want: unverified, named: "schema 1, want 2",
		do: func(c *corrupt) { c.set("schema", 1) },
	},
	{
		name: "run.json: no schema", want: unverified, named: "schema 1, want 2",
		do: func(c *corrupt) { c.without("schema") },
	},
	{
		name: "run.json: revisions", named: "run.json",
		do: func(c *corrupt) { c.set("revisions", map[string]int{"method": 9}) },
	},
	{name: "run.json: no revisions", named: "run.json", do: func(c *corrupt) { c.without("revisions") }},
	{name: "run.json: revisions, checksums anew", want: apart, do: func(c *corrupt) {
		c.info(func(m map[string]any) { m["revisions"].(map[string]any)["method"] = 9 })
		c.forge()
	}},
	{name: "run.json: numerics", named: "run.json", do: func(c *corrupt) { c.set("numerics", "cuda-fp32") }},
	{name: "run.json: no numerics", named: "run.json", do: func(c *corrupt) { c.without("numerics") }},
	{
		name: "run.json: numerics, checksums anew", want: apart, again: "numerics cuda-fp32, want cpu-",
		do: func(c *corrupt) { c.set("numerics", "cuda-fp32"); c.forge() },
	},
	{
		name: "run.json: engine, checksums anew", named: "engine",
		do: func(c *corrupt) { c.set("engine", "cuda-sm90"); c.forge() },
	},
	{
		name: "run.json: precision, checksums anew", named: "precision",
		do: func(c *corrupt) { c.set("precision", "bf16"); c.forge() },
	},
	{
		name: "run.json: version, checksums anew", named: "version",
		do: func(c *corrupt) { c.set("version", "v0.1"); c.forge() },
	},
	{name: "run.json: device", named: "run.json", do: func(c *corrupt) { c.set("device", "H200") }},
	{name: "run.json: data", named: "run.json", do: func(c *corrupt) { c.set("data", "cifar10") }},
	{name: "run.json: data_checksum", named: "run.json", do: func(c *corrupt) { c.set("data_checksum", "sha256:00") }},
	{name: "run.json: no data_checksum", named: "run.json", do: func(c *corrupt) { c.without("data_checksum") }},
	{
		name: "run.json: data_checksum, checksums anew", want: apart, again: "data checksum", way: "--again",
		do: func(c *corrupt) { c.set("data_checksum", "sha256:00"); c.forge() },
	},
	{name: "run.json: checksum of the curve", named: "run.json", do: func(c *corrupt) {
		c.set("checksums", map[string]string{results.CurveFile: "sha256:00"})
	}},
	{name: "run.json: no checksums", named: "run.json", do: func(c *corrupt) { c.without("checksums") }},
	{name: "run.json: a field that there is not", named: "run.json", do: func(c *corrupt) { c.set("Seed", 77) }},
	{name: "run.json: a field twice, the last as it was", want: harmless, again: "kept", do: func(c *corrupt) {
		c.text(results.RunFile, func(s string) string {
			return strings.Replace(s, `"rounds": 4`, `"rounds": 3, "rounds": 4, "seed": 77`, 1)
		})
	}},
	{
		name: "run.json: of another method", named: "run.json",
		do: func(c *corrupt) { c.from("sweep/mifa_*/seed-4/run.json", results.RunFile) },
	},
	{
		name: "run.json: of another seed", named: "run.json",
		do: func(c *corrupt) { c.from("sweep/fedawe_*/seed-3/run.json", results.RunFile) },
	},
	{
		name: "run.json: of another command", named: "run.json",
		do: func(c *corrupt) { c.from("run/fedar_*/seed-3/run.json", results.RunFile) },
	},
	{
		name: "run.json: half of it", named: "run.json: line",
		do: func(c *corrupt) { c.check(os.Truncate(c.path(results.RunFile), 400)) },
	},
	{
		name: "run.json: twice", named: "more text",
		do: func(c *corrupt) { c.text(results.RunFile, func(s string) string { return s + s }) },
	},
	{name: "run.json: null", named: "run.json", do: func(c *corrupt) { c.whole(results.RunFile, "null\n") }},
	{name: "run.json: a list", named: "run.json", do: func(c *corrupt) { c.whole(results.RunFile, "[]\n") }},
	{
		name: "run.json: nested without end", named: "run.json",
		do: func(c *corrupt) { c.whole(results.RunFile, strings.Repeat(`{"a":`, 1e5)) },
	},
	{
		name: "run.json: a seed of 20 digits", named: "run.json",
		do: func(c *corrupt) { c.set("seed", json.Number("99999999999999999999")) },
	},
	{
		name: "run.json: a setting of 1e999", named: "run.json",
		do: func(c *corrupt) { c.setting("lr", json.Number("1e999")) },
	},
	{name: "run.json: CRLF", want: harmless, again: "kept", do: func(c *corrupt) { c.crlf(results.RunFile) }},
	{
		name: "run.json: the clock was set back", want: harmless, again: "kept",
		do: func(c *corrupt) { c.set("finished", "1970-01-01T00:00:00Z") },
	},
	{name: "run.json: none", want: unfinished, do: func(c *corrupt) { c.check(os.Remove(c.path(results.RunFile))) }},

	{
		name: "curve.csv: of another method", named: "curve.csv",
		do: func(c *corrupt) { c.from("sweep/mifa_*/seed-4/curve.csv", results.CurveFile) },
	},
	{name: "curve.csv: of another method, checksums anew", named: "method", do: func(c *corrupt) {
		c.from("sweep/mifa_*/seed-4/curve.csv", results.CurveFile)
		c.forge()
	}},
	{
		name: "curve.csv: of another seed", named: "seed",
		do: func(c *corrupt) { c.from("sweep/fedawe_*/seed-3/curve.csv", results.CurveFile) },
	},
	{name: "curve.csv: of another table", named: "checksum", do: func(c *corrupt) { c.put(-1, "table", "fedawe-2") }},
	{name: "curve.csv: last row twice", named: "round 4 after round 4", do: func(c *corrupt) {
		c.rows(func(r [][]string) [][]string { return append(r, r[5]) })
	}},
	{name: "curve.csv: rows swapped", named: "curve.csv: line", do: func(c *corrupt) {
		c.rows(func(r [][]string) [][]string { r[2], r[3] = r[3], r[2]; return r })
	}},
	{
		name: "curve.csv: rounds exchanged", named: "checksum",
		do: func(c *corrupt) { c.put(1, "test_acc", "0.6"); c.put(2, "test_acc", "0.5") },
	},
	{name: "curve.csv: one number", named: "checksum", do: func(c *corrupt) { c.put(4, "test_acc", "0.75") }},
	{
		name: "curve.csv: none", named: "curve.csv",
		do: func(c *corrupt) { c.check(os.Remove(c.path(results.CurveFile))) },
	},
	{
		name: "curve.csv: a round of 20 digits", named: "column round",
		do: func(c *corrupt) { c.put(3, "round", "99999999999999999999") },
	},
	{
		name: "curve.csv: a loss of 1e999", named: "column test_loss",
		do: func(c *corrupt) { c.put(3, "test_loss", "1e999") },
	},
	{name: "curve.csv: a column empty", named: "column", do: func(c *corrupt) { c.put(-1, "round", "") }},
	{
		name: "curve.csv: half a line", named: "curve.csv: line",
		do: func(c *corrupt) { c.text(results.CurveFile, func(s string) string { return s[:len(s)-60] }) },
	},
	{
		name: "curve.csv: no line break at its end", named: "no line break",
		do: func(c *corrupt) { c.text(results.CurveFile, strings.TrimSpace) },
	},
	{name: "curve.csv: CRLF", want: harmless, again: "kept", do: func(c *corrupt) { c.crlf(results.CurveFile) }},
	{
		name: "curve.csv: byte order mark", named: "unknown column",
		do: func(c *corrupt) { c.text(results.CurveFile, func(s string) string { return "\ufeff" + s }) },
	},
	{
		name: "curve.csv: header alone", named: "no row",
		do: func(c *corrupt) { c.rows(func(r [][]string) [][]string { return r[:1] }) },
	},
	{
		name: "curve.csv: no header", named: "curve.csv: line 1",
		do: func(c *corrupt) { c.rows(func(r [][]string) [][]string { return r[1:] }) },
	},
	{
		name: "curve.csv: header twice", named: "curve.csv: line 2",
		do: func(c *corrupt) { c.rows(func(r [][]string) [][]string { return slices.Insert(r, 1, r[0]) }) },
	},
	{name: "curve.csv: unknown column", named: "unknown column", do: func(c *corrupt) {
		c.text(results.CurveFile, func(s string) string { return strings.Replace(s, "lr", "rate", 1) })
	}},
	{name: "curve.csv: quote without end", named: "curve.csv", do: func(c *corrupt) {
		c.text(results.CurveFile, func(s string) string { return strings.Replace(s, "sweep,", `"sweep,`, 1) })
	}},
	{
		name: "curve.csv: a text that is no UTF-8", named: "curve.csv",
		do: func(c *corrupt) { c.put(-1, "params", "eval-every=1\xff") },
	},
	{
		name: "curve.csv: another setting, checksums anew", named: "params",
		do: func(c *corrupt) { c.put(-1, "params", "eval-every=1;lr=7"); c.forge() },
	},
	{
		name: "curve.csv: more clients, checksums anew", named: "clients",
		do: func(c *corrupt) { c.put(-1, "clients", "100"); c.forge() },
	},
	{
		name: "curve.csv: α of a split without, checksums anew", named: "alpha",
		do: func(c *corrupt) { c.put(-1, "alpha", "0.5"); c.forge() },
	},

	{
		name: "clients.csv: a number", want: beside, named: "clients.csv",
		do: func(c *corrupt) { c.of("run/fedar_*/seed-3").number(results.ClientsFile) },
	},
	{
		name: "clients.csv: none", want: beside, named: "clients.csv",
		do: func(c *corrupt) { c.check(os.Remove(c.of("run/fedar_*/seed-3").path(results.ClientsFile))) },
	},
	{
		name: "clients.csv: empty", want: beside, named: "clients.csv",
		do: func(c *corrupt) { c.of("run/fedar_*/seed-3").whole(results.ClientsFile, "") },
	},
	{
		name: "decisions.csv: a number", want: beside, named: "decisions.csv",
		do: func(c *corrupt) { c.of("run/ca-fed_*/seed-3").number(results.DecisionsFile) },
	},
	{
		name: "decisions.csv: none", want: beside, named: "decisions.csv",
		do: func(c *corrupt) { c.check(os.Remove(c.of("run/ca-fed_*/seed-3").path(results.DecisionsFile))) },
	},
	{
		name: "decisions.csv: of a run without", want: stray, named: "decisions.csv",
		do: func(c *corrupt) { c.from("run/ca-fed_*/seed-3/decisions.csv", results.DecisionsFile) },
	},
	{name: "summary.csv: a number", want: harmless, do: func(c *corrupt) {
		c.dir = filepath.Join(c.out, "sweep")
		c.text(results.SummaryFile, func(s string) string { return strings.Replace(s, ",0.6", ",0.9", 2) })
		c.of("sweep/fedawe_*/seed-4")
	}},
	{
		name: "summary.csv: none", want: harmless,
		do: func(c *corrupt) { c.check(os.Remove(filepath.Join(c.out, "sweep", results.SummaryFile))) },
	},
}, corruptRows(), corruptKinds())

// corruptRows are rows that cannot be, each with checksums made anew.
func corruptRows() (all []corruption) {
	for _, round := range []int{0, 2, 4} {
		all = append(all, corruption{
			name:  fmt.Sprintf("curve.csv: no row of round %d, checksums anew", round),
			named: "round", do: func(c *corrupt) {
				c.drop(round)
				c.forge()
			},
		})
	}
	for _, cell := range []string{
		"test_acc=NaN", "test_acc=+Inf", "test_acc=-5", "test_acc=2", "test_acc=1e308", "test_acc=", "train_acc=2",
		"train_acc=", "test_loss=NaN", "test_loss=-Inf", "train_loss=+Inf", "test_loss=", "active=5", "active=-1",
		"lr=-1", "lr=NaN", "elapsed_s=NaN", "elapsed_s=+Inf", "elapsed_s=0.000000001", "seed=5", "round=7",
		"engine=cuda-sm90", "precision=bf16", "version=v0.1", "method=mifa", "preset=paper", "net=lenet5",
		"availability=sine", "data=leaf",
	} {
		column, value, _ := strings.Cut(cell, "=")
		// with checksums made anew
		all = append(all, corruption{
			name: "curve.csv: " + cell + " in a row", named: "curve.csv",
			do: func(c *corrupt) {
				c.put(3, column, value)
				c.forge()
			},
		})
	}
	return all
}

// corruptKinds are other things in place of a file.
func corruptKinds() (all []corruption) {
	for _, file := range []string{results.CurveFile, results.RunFile} {
		for _, kind := range []struct {
			name string
			put  func(path string) error
		}{
			{"empty", func(path string) error { return os.WriteFile(path, nil, 0o666) }},
			{"zeros, as after a power cut", func(path string) error {
				return os.WriteFile(path, make([]byte, 900), 0o666)
			}},
			{"a pipe", func(path string) error { return syscall.Mkfifo(path, 0o666) }},
			{"a folder", func(path string) error { return os.Mkdir(path, 0o777) }},
			{"a folder with something in it", func(path string) error {
				return os.MkdirAll(filepath.Join(path, "something"), 0o777)
			}},
			{"a link to itself", func(path string) error { return os.Symlink(filepath.Base(path), path) }},
			{"a link to a device without end", func(path string) error { return os.Symlink("/dev/zero", path) }},
		} {
			x := corruption{name: file + ": " + kind.name, named: file, do: func(c *corrupt) {
				c.check(os.Remove(c.path(file)), kind.put(c.path(file)))
			}}
			all = append(all, x)
		}
	}
	return all
}
