package track

import (
	"os"
	"strings"
	"testing"

	"rollcall/internal/files"
	"rollcall/internal/must"
)

// TestReadBad has every kind of line a history should not have. The good ones are used.
func TestReadBad(t *testing.T) {
	h := referenced(small(2))
	h.Nights[0].Load, h.Nights[0].Steal = files.Some(0.5), files.Some(0.25)
	path := written(t, t.TempDir(), h)
	good := must.Get(os.ReadFile(path))(t)
	lines := strings.SplitAfter(string(good), "\n") // header, 2 + 2 rows, nothing
	replaced := func(line int, old, with string) string {
		if !strings.Contains(lines[line], old) {
			t.Fatalf("line %d has no %q", line+1, old)
		}
		out := append([]string(nil), lines...)
		out[line] = strings.Replace(out[line], old, with, 1)
		return strings.Join(out, "")
	}
	other := testMachine
	other.Threads = 1
	var foreign strings.Builder
	must.OK(t, encode(&foreign, other, h.Nights[0]))
	foreignRow, _, _ := strings.Cut(foreign.String(), "\n")
	for _, test := range []struct {
		name, text string
		rows       int
		want       []string
	}{
		{"nothing", "", 0, []string{"line 1: empty, want the header schema,run,"}},
		{"another CSV", "a,b\n1,2\n", 0, []string{`line 1: no column "schema", want the header`}},
		{
			"a column missing", strings.Replace(string(good), ",precision", "", 1), 0,
			[]string{`line 1: no column "precision"`},
		},
		{
			"a column more", strings.Replace(string(good), ",precision", ",precision,moon", 1), 0,
			[]string{"line 1: header "},
		},
		{
			"half a line at the end", string(good[:len(good)-30]), 3,
			[]string{"line 5: no line break at its end, want one: it is half written"},
		},
		{"half a line within", replaced(2, "metric/01,ms,", "\n"), 3, []string{
			"line 3: 22 columns, want 26",
			"line 4: column schema: ",
		}},
		{"another schema", replaced(2, "2,", "1,"), 3, []string{`line 3: column schema: "1", want 2`}},
		{
			"a history of schema 1", header1 + "\n1,20260101T020000Z,2026-01-01T02:00:00Z,v1,go1.26,,ab5773e9b5d2," +
				"test/1,linux/amd64,Some CPU @ 2 GHz,4,2,cpu-avx512,Some CPU @ 2 GHz,,800-3500 MHz,fp32,a,ms,1\n", 0,
			[]string{"line 1: a history of schema 1, whose nights have no reference, want schema 2: keep it elsewhere"},
		},
		{"load", replaced(1, ",0.5,", ",-0.5,"), 3, []string{`line 2: column load: "-0.5", want a number from 0 to`}},
		{"steal", replaced(1, ",0.25,", ",1.25,"), 3, []string{`line 2: column steal: "1.25", want a number from 0`}},
		{"others", replaced(1, ",0.25,,", ",0.25,NaN,"), 3, []string{`line 2: column others: "NaN", want a number`}},
		{
			"users", replaced(1, ",0.25,,,", ",0.25,,some,"), 3,
			[]string{`line 2: column card_users: "some", want a number`},
		},
		{"processor", replaced(4, ",400 ", " 7,400 "), 3, []string{"line 5: column reference: 10 numbers, want"}},
		{"reference", replaced(4, ",400 401 ", ",-400 401 "), 3, []string{`line 5: column reference: "-400", want`}},
		{"unit", replaced(4, ",ms,", ",s,"), 3, []string{`line 5: column unit: "s", want ms or µs where there is a`}},
		{"a quote", replaced(2, "v1", `"v1`), 3, []string{`line 3: extraneous or missing " in quoted-field`}},
		{
			"time", replaced(1, "2026-01-01T", "yesterday "), 3,
			[]string{`line 2: column time: "yesterday 02:00:00Z", want`},
		},
		{"sample", replaced(4, "ms,", "ms,NaN "), 3, []string{`line 5: column wall: "NaN", want a positive number`}},
		{"machine edited", replaced(1, "avx512", "avx2"), 3, []string{"line 2: column fingerprint: "}},
		{
			"threads", replaced(1, ",4,2,", ",4,two,"), 3,
			[]string{`line 2: column threads: "two", want a whole number`},
		},
		{
			"a row twice", string(good) + lines[1], 4,
			[]string{"line 6: run 20260101T020000Z has metric/00 in line 2 already, want it once"},
		},
		{
			"a row of another machine", string(good) + foreignRow + "\n", 4,
			[]string{"line 6: machine " + other.Fingerprint() + ", want " + testMachine.Fingerprint()},
		},
		{
			"a run at two times", replaced(2, "2026-01-01T02:00:00Z", "2026-01-01T03:00:00Z"), 3,
			[]string{"line 3: run 20260101T020000Z at 2026-01-01T03:00:00Z, want 2026-01-01T02:00:00Z"},
		},
		{"line breaks of Windows", strings.ReplaceAll(string(good), "\n", "\r\n"), 4, nil},
		{"empty lines", strings.ReplaceAll(string(good), "\n", "\n\n"), 4, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, bad := read(test.text, "f.csv")
			rows := 0
			if h != nil {
				for _, n := range h.Nights {
					rows += len(n.Values)
				}
			}
			if rows != test.rows {
				t.Errorf("good rows: got %d, want %d", rows, test.rows)
			}
			if len(bad) != len(test.want) {
				t.Fatalf("errors: got %v, want %d", bad, len(test.want))
			}
			for i, want := range test.want {
				if want = "track: f.csv: " + want; !strings.HasPrefix(bad[i].Error(), want) {
					t.Errorf("error %d:\ngot  %v\nwant %s…", i, bad[i], want)
				}
			}
		})
	}
}
