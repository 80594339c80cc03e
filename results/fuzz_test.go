package results

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
	"rollcall/results/metrics"
)

// fuzzedSettings are those of [fuzzedRun].
var fuzzedSettings = map[string]any{
	"method": "mifa", "preset": "code", "data": "leaf", "net": "n", "availability": "sine", "clients": 4, "rounds": 2,
	"eval-every": 1, "eval-last": "none", "eval-train": false,
}

// fuzzedRun writes a run that is right, and returns its folder.
func fuzzedRun(f *testing.F) (dir string) {
	cell := Setup{Method: "mifa", Preset: "code", Data: "leaf", Net: "n", Availability: "sine", Clients: 4}
	dir = filepath.Join(f.TempDir(), "t", CellFolder(cell, Hash(fuzzedSettings)), "seed-3")
	var rows []CurveRow
	for round := range 3 {
		rows = append(rows, CurveRow{
			Setup: cell, Seed: 3, Round: round, Active: round, TestLoss: files.Some(1),
			TestAcc: files.Some(float64(round) / 4), ElapsedSec: float64(round), Params: "rounds=2",
		})
	}
	info := RunInfo{Status: RunComplete, Rounds: 2, Settings: fuzzedSettings, Seed: 3}
	must.OK(f, WriteCurve(filepath.Join(dir, CurveFile), rows))
	must.OK(f, WriteRunInfo(filepath.Join(dir, RunFile), info, nil))
	return dir
}

// FuzzRunInfo: whatever is read as run.json can be written and read again, and says the same.
func FuzzRunInfo(f *testing.F) {
	good := must.Get(os.ReadFile(filepath.Join(fuzzedRun(f), RunFile)))(f)
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte(`{"status":"complete","settings":{"a":[1e3,null,{"b":-0.0}]},"settings_hash":"6d18f9fd5e"}`))
	f.Add([]byte(`{"schema":2,"status":"failed","settings":1e400}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		info, err := decodeRunInfo(text)
		if err != nil {
			return
		}
		info.Schema, info.Checksums = Schema, Checksums{}
		written, err := json.Marshal(info)
		if err != nil {
			t.Fatalf("write what was read: %v", err)
		}
		if info.Checksums[RunFile], err = infoChecksum(written); err != nil {
			t.Fatal(err)
		}
		if written, err = json.Marshal(info); err != nil {
			t.Fatal(err)
		}
		again, err := decodeRunInfo(written)
		if err != nil {
			t.Fatalf("read what was written: %v\n%s", err, written)
		}
		if again.Likeness() != info.Likeness() || again.Status != info.Status || again.Seed != info.Seed {
			t.Errorf("read again: %+v, want %+v", again, info)
		}
	})
}

// FuzzRunFolder: whatever is in a run's folder is a run that is right in every number, or is damaged and says why;
// looking at it never panics.
func FuzzRunFolder(f *testing.F) {
	dir := fuzzedRun(f)
	curve := must.Get(os.ReadFile(filepath.Join(dir, CurveFile)))(f)
	info := must.Get(os.ReadFile(filepath.Join(dir, RunFile)))(f)
	f.Add(curve, info, []byte{}, false)
	f.Add(curve, info, []byte("x"), true)
	f.Add(curve[:len(curve)-9], info, []byte{}, true)
	f.Add(bytes.Replace(curve, []byte(",0.5,"), []byte(",NaN,"), 1), info, []byte{}, true)
	f.Add(curve, bytes.Replace(info, []byte(`"complete"`), []byte(`"diverged"`), 1), []byte{}, true)
	f.Add(curve, bytes.Replace(info, []byte(`"rounds": 2`), []byte(`"rounds": -9223372036854775808`), 1),
		[]byte{}, true)
	f.Add(curve, bytes.Replace(info, []byte(`"rounds": 2`), []byte(`"rounds": 9223372036854775807`), 2), []byte{}, true)
	f.Fuzz(func(t *testing.T, curve, info, decisions []byte, forge bool) {
		write := func(name string, text []byte) {
			must.OK(t, os.WriteFile(filepath.Join(dir, name), text, 0o666))
		}
		write(CurveFile, curve)
		write(RunFile, info)
		if len(decisions) > 0 {
			write(DecisionsFile, decisions)
		} else if err := os.RemoveAll(filepath.Join(dir, DecisionsFile)); err != nil {
			t.Fatal(err)
		}
		if forge { // with checksums that are right, so that the checks behind them are reached
			write(RunFile, forged(dir, info))
		}
		r, bad := ReadRunFolder(dir)
		for _, err := range bad {
			if !strings.Contains(err.Error(), dir) {
				t.Errorf("error %q, want the folder in it", err)
			}
		}
		if r.Damaged != (len(bad) > 0) {
			t.Errorf("damaged %t, and %d errors", r.Damaged, len(bad))
		}
		if len(r.Curve) == 0 {
			return
		}
		for _, c := range Cells([]Run{r, r}, false) {
			_ = c.Status() + c.String() + c.Mark
		}
		if r.Status() != RunComplete {
			return
		}
		if len(r.Curve) > r.Info.Rounds+1 || r.Curve[0].Params.Get("rounds") != "" && r.Info.Schema == Schema &&
			r.Seed != r.Info.Seed {
			t.Errorf("%d rows, seed %d, want those of %+v", len(r.Curve), r.Seed, r.Info)
		}
		for _, row := range r.Curve {
			if x := row.TestAcc.Value; !row.TestAcc.Valid || !(x >= 0 && x <= 1) || row.Named() != nil {
				t.Errorf("a complete run has %+v", row)
			}
			if x := row.TestLoss.Value; math.IsNaN(x) || math.IsInf(x, 0) || row.Active < 0 ||
				row.Active > row.Clients {
				t.Errorf("a complete run has %+v", row)
			}
		}
	})
}

// forged returns run.json with the checksums that the files beside it have; as it is, if it cannot be.
func forged(dir string, text []byte) []byte {
	var info RunInfo
	if decodeJSON(text, &info) != nil {
		return text
	}
	settings, err := canonical(info.Settings)
	sums, sumsErr := checksums(dir, info.Rounds, nil)
	if err != nil || sumsErr != nil {
		return text
	}
	info.SettingsHash, info.Checksums = hash(settings), sums
	whole, err := json.Marshal(info)
	if err != nil {
		return text
	}
	if info.Checksums[RunFile], err = infoChecksum(whole); err != nil {
		return text
	}
	if whole, err = json.Marshal(info); err != nil {
		return text
	}
	return whole
}

// fuzzCSV: whatever is read of rows without an error can be written and read again to the same text. An error names the
// file.
func fuzzCSV[T any](f *testing.F, rows []T, seeds ...string) {
	var good bytes.Buffer
	must.OK(f, files.WriteCSV(&good, rows))
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()*2/3])
	f.Add(bytes.ReplaceAll(good.Bytes(), []byte("0.5"), []byte("-nan")))
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := files.ReadCSV[T](bytes.NewReader(text), "x.csv")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "results: x.csv: ") {
				t.Errorf("error %q does not name the file", err)
			}
			return
		}
		var first, second bytes.Buffer
		if err := files.WriteCSV(&first, rows); err != nil {
			t.Fatalf("write what was read: %v", err)
		}
		again, err := files.ReadCSV[T](bytes.NewReader(first.Bytes()), "x.csv")
		if err != nil {
			t.Fatalf("read what was written: %v\n%q", err, first.Bytes())
		}
		if err := files.WriteCSV(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("read and written again: %v\ngot  %q\nwant %q", err, second.Bytes(), first.Bytes())
		}
	})
}

func FuzzSummary(f *testing.F) {
	fuzzCSV(f, []SummaryRow{{
		Setup: Setup{Method: "mifa", Alpha: files.Some(0.5)}, Metric: metrics.TestAcc, N: 3, Mean: files.Some(0.5),
		Status: CellOK, Error: "a \"b\",\nc",
	}})
}

func FuzzBench(f *testing.F) { fuzzCSV(f, []BenchRow{{EvalMS: files.Some(0.5), GFLOPs: 0.5, Seed: 3}}) }

// FuzzParams: what is taken out and what is left are all there was.
func FuzzParams(f *testing.F) {
	f.Add("lr=0.1;trace=a=b;rounds=4", "lr")
	f.Add(";;=;x", "x")
	f.Fuzz(func(t *testing.T, text, name string) {
		p := Params(text)
		with, without := p.Only(name), p.Without(name)
		if n, all := len(with.list())+len(without.list()), len(NewParams(p.list()...).list()); n != all {
			t.Errorf("%q: %d settings with and without %q, want %d", text, n, name, all)
		}
		if again := NewParams(without.list()...); again != without || without.Get(name) != "" {
			t.Errorf("%q without %q: %q, and put together again %q", text, name, without, again)
		}
		if left := p.Minus(p); left != "" {
			t.Errorf("%q without itself: %q", text, left)
		}
		if names := without.Names(); slices.Contains(names, name) && name != "" {
			t.Errorf("%q without %q has %q", text, name, names)
		}
	})
}

// FuzzFigureInfo: the JSON of a figure is read, and written again to what is read to the same, or is an error.
func FuzzFigureInfo(f *testing.F) {
	f.Add(`{"schema":1,"figure":"cafed-f1b","seeds":[1,2],"settings":{"data":"mnist"},"data":{"leaf":"sha256:0a"}}`)
	f.Add("\ufeff{\"schema\":1,\"clients\":[1e2]}")
	path := filepath.Join(f.TempDir(), "figure.json")
	f.Fuzz(func(t *testing.T, text string) {
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		info, err := ReadFigureInfo(path)
		if err != nil {
			return
		}
		must.OK(t, WriteFigureInfo(path, info))
		first := must.Get(os.ReadFile(path))(t)
		again, err := ReadFigureInfo(path)
		must.OK(t, err)
		must.OK(t, WriteFigureInfo(path, again))
		if second := must.Get(os.ReadFile(path))(t); string(first) != string(second) {
			t.Errorf("%q: written %s, read and written again %s", text, first, second)
		}
	})
}
