package results

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

type testSettings struct {
	Rounds int     `json:"rounds"`
	LR     float64 `json:"lr"`
	Alpha  float64 `json:"alpha"`
	Seed   uint64  `json:"seed"`
	Name   string  `json:"name"`
}

func TestHash(t *testing.T) {
	// printf '{"alpha":1,"lr":0.05,"name":"a<b","rounds":10,"seed":18446744073709551615}' with < as \u003c | sha256sum
	const want = "9d92a879ee"
	same := map[string]any{
		"struct":  testSettings{10, 0.05, 1, math.MaxUint64, "a<b"},
		"pointer": &testSettings{10, 0.05, 1, math.MaxUint64, "a<b"},
		"map":     map[string]any{"rounds": 10, "lr": 0.05, "alpha": 1, "seed": uint64(math.MaxUint64), "name": "a<b"},
		"raw": json.RawMessage(`{"seed":18446744073709551615, "rounds":1e1,"alpha":1.0,"lr":5e-2,` +
			`"name":"a\u003cb"}`),
	}
	for name, settings := range same {
		if got := Hash(settings); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	for name, settings := range map[string]any{
		"other number": testSettings{10, 0.05, 1, math.MaxUint64 - 1, "a<b"},
		"number as text": map[string]any{
			"rounds": "10", "lr": 0.05, "alpha": 1, "seed": uint64(math.MaxUint64), "name": "a<b",
		},
	} {
		if got := Hash(settings); got == want || len(got) != hashDigits {
			t.Errorf("%s: got %s, want %d digits other than %s", name, got, hashDigits, want)
		}
	}
	if a, b := Hash([]any{1, 2}), Hash([]any{2, 1}); a == b {
		t.Errorf("order of a list: both %s, want two hashes", a)
	}
	if a, b := Hash(math.Copysign(0, -1)), Hash(0); a != b {
		t.Errorf("−0 and 0: %s and %s, want the same", a, b)
	}
}

func TestHashPanics(t *testing.T) {
	defer func() {
		want := "results: hash of settings: json: unsupported value: NaN"
		if got := recover(); got != want {
			t.Errorf("got %v, want a panic with %s", got, want)
		}
	}()
	Hash(math.NaN())
}

func testInfo() RunInfo {
	return RunInfo{
		Status: RunComplete, Rounds: 10, Settings: testSettings{10, 0.05, 1, 3, "x"}, Seed: 3, Data: "cifar10",
		DataChecksum: "md5:c32a1d4ab5d03f1284b67883e8d87530", Engine: "cpu-avx512", Precision: "fp32", Device: "CPU",
		Version: "v0.1", GoVersion: "go1.26", Started: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC),
		Finished: time.Date(2025, 3, 1, 12, 1, 0, 0, time.UTC),
	}
}

func TestRunInfo(t *testing.T) {
	path := filepath.Join(t.TempDir(), RunFile)
	info := testInfo()
	must.OK(t, WriteRunInfo(path, info, nil))
	text := must.Get(os.ReadFile(path))(t)
	for _, want := range []string{
		`"status": "complete"`, `"settings_hash": "` + Hash(info.Settings) + `"`,
		// sorted
		"\"settings\": {\n    \"alpha\": 1,\n    \"lr\": 0.05,\n    \"name\": \"x\",\n    \"rounds\": 10,\n" +
			"    \"seed\": 3\n  }",
		`"started": "2025-03-01T12:00:00Z"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("file lacks %s:\n%s", want, text)
		}
	}
	back := must.Get(ReadRunInfo(path))(t)
	if Hash(back.Settings) != Hash(info.Settings) {
		t.Errorf("settings read back: %v, want those of %+v", back.Settings, info.Settings)
	}
	back.Settings, back.SettingsHash, back.Schema, back.Checksums = info.Settings, "", 0, nil
	if !reflect.DeepEqual(back, info) {
		t.Errorf("read back: got %+v, want %+v", back, info)
	}
}

func TestRunInfoRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), RunFile)
	for _, test := range []struct {
		name string
		info RunInfo
		want string
	}{
		{"no status", RunInfo{}, `status "", want one of complete, interrupted, failed, diverged`},
		{
			"settings without JSON",
			RunInfo{Status: RunFailed, Settings: map[string]any{"lr": math.NaN()}},
			`settings: json: unsupported value: NaN`,
		},
	} {
		err := WriteRunInfo(path, test.info, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "results: "+path) ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s in it", test.name, err, test.want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Fatalf("%s: a file was written, want none", test.name)
		}
	}
}

func TestReadRunInfoMalformed(t *testing.T) {
	path := filepath.Join(t.TempDir(), RunFile)
	must.OK(t, WriteRunInfo(path, testInfo(), nil))
	raw := must.Get(os.ReadFile(path))(t)
	good := string(raw)
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "empty, want JSON"},
		{"cut off", good[:len(good)/2], "unexpected EOF"},
		{"more behind", good + "{}", "want one JSON value"},
		{"no status", strings.Replace(good, `"status": "complete",`, "", 1), `status "", want one of complete`},
		{"unknown status", strings.Replace(good, "complete", "done", 1), `status "done", want one of complete`},
		{"settings changed", strings.Replace(good, `"rounds": 10,`+"\n    \"seed\"", `"rounds": 20,`+"\n    \"seed\"",
			1), "the hash of the settings beside it"},
		{
			"number too large", strings.Replace(good, `"lr": 0.05`, `"lr": 1e400`, 1),
			`settings: lr: "1e400", want a number of 64 bits`,
		},
		{"other type", `[]`, "cannot unmarshal array"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.text == good {
				t.Fatal("the text was not changed")
			}
			must.OK(t, os.WriteFile(path, []byte(test.text), 0o600))
			_, err := ReadRunInfo(path)
			if err == nil || !strings.HasPrefix(err.Error(), "results: "+path+": ") ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want the path and %s", err, test.want)
			}
		})
	}
}
