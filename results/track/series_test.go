package track

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestReadSeries(t *testing.T) {
	var dated, plain, up strings.Builder
	for i := range 60 {
		x := 100 + float64(i%5)/10
		if i >= 40 {
			x *= 1.1
		}
		at := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		fmt.Fprintf(&dated, "%s,%g,\n", at.Format(time.DateOnly), x)
		fmt.Fprintf(&plain, "v%d,%g\n", i, x)
		fmt.Fprintf(&up, "%d,%g,7\n", at.Unix(), 1e4/x)
	}
	for _, test := range []struct {
		name, text string
		reciprocal bool
		want       string
	}{
		{
			"dates", "when,latency,empty\n" + dated.String(), false,
			"f.csv: OPEN since 2026-02-10: latency +10 %; 20 rows (1 of 1 metrics",
		},
		{"no header, versions", plain.String(), false, "OPEN since v40: value 1 +10 %; 20 rows"},
		{"more is better", "t,a,b\n" + up.String(), true, "OPEN since 2026-02-10: a -9.1 %; 20 rows (2 of 2 metrics"},
		{"less is better", "t,a,b\n" + up.String(), false, ": no regression (2 of 2 metrics compared, 60 rows)"},
	} {
		h, err := ReadSeries(strings.NewReader(test.text), "f.csv", test.reciprocal)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if v := DefaultRule().Judge(h, time.Now(), nil); !strings.Contains(v.Text, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, v.Text, test.want)
		}
	}
	for text, want := range map[string]string{
		"":                            "line 1: empty",
		"a\n1\n":                      "line 1: one column",
		"t,x\n":                       "line 2: no row",
		"t,x\n2026-01-01,-1\n":        `line 2: column x: "-1", want a positive number`,
		"t,x\n2026-01-01,1\n2026,x\n": `line 3: column x: "x", want`,
		"t,x\n1,2,3\n":                "wrong number of fields",
	} {
		_, err := ReadSeries(strings.NewReader(text), "f.csv", false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
