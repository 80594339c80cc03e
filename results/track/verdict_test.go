package track

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"rollcall/internal/must"
)

// verdictOn is the verdict on a whole history.
func verdictOn(t *testing.T, h *History, accepted ...Acceptance) Verdict {
	t.Helper()
	return DefaultRule().Judge(h, h.Nights[len(h.Nights)-1].Time, accepted)
}

// slowed has 60 nights of v1, and then nights of v2, in which two metrics are 12 % slower, and a third one as before.
func slowed(nights int) *History {
	h := synthetic(2, noise{sample: 0.002, samples: 10, passes: 1}, nights, 3, func(night, metric int) float64 {
		if night >= 60 && metric < 2 {
			return 1.122 - 0.002*float64(metric)
		}
		return 1
	})
	for i := range h.Nights {
		if i >= 60 {
			h.Nights[i].Version = "v2"
		}
	}
	return h
}

// States of one event, night by night.
func TestJudge(t *testing.T) {
	const since = "since 2026-03-02, v2 (v1 before): metric/00, metric/01 +12 %; "
	h := slowed(75)
	for i := 68; i < len(h.Nights); i++ { // v3 is as fast as v1
		h.Nights[i].Version = "v3"
		for j, v := range h.Nights[i].Values[:2] {
			for k := range v.Wall {
				h.Nights[i].Values[j].Wall[k] /= 1.12
			}
		}
	}
	for _, test := range []struct {
		nights int
		state  State
		want   string
	}{
		{
			62, "",
			"rollcall v2 on " + testMachine.Fingerprint() + ": no regression (3 of 3 metrics compared, 62 nights)",
		},
		{63, Open, "OPEN " + since + "3 nights (3 of 3"},
		{65, Open, "OPEN " + since + "5 nights (3 of 3"},
		{66, Confirmed, "OPEN " + since + "6 nights (3 of 3"},
		{70, Confirmed, "OPEN " + since + "10 nights (3 of 3"},
		{71, Fixed, "no regression (3 of 3"},
		{75, Fixed, "no regression (3 of 3"},
	} {
		part := *h
		part.Nights = h.Nights[:test.nights]
		v := verdictOn(t, &part)
		var state State
		if len(v.Events) == 1 {
			state = v.Events[0].State
		}
		if state != test.state || len(v.Events) > 1 || !strings.Contains(v.Text, test.want) ||
			len(v.Open()) > 0 != test.state.IsOpen() {
			t.Errorf("%d nights: got state %q, %q, want %q, %q", test.nights, state, v.Text, test.state, test.want)
		}
	}
	v := verdictOn(t, h)
	f := v.Events[0]
	if f.FirstRun != "20260302T020000Z" || f.FoundRun != "20260304T020000Z" || f.FixedRun != "20260310T020000Z" ||
		f.FixedVersion != "v3" || f.Nights != 8 || len(f.Metrics) != 2 ||
		!strings.HasPrefix(f.Text, "fixed on 2026-03-10 by v3, was open "+since) {
		t.Errorf("fixed: got %+v", f)
	}
	var text, list strings.Builder
	must.OK(t, WriteText(&text, []Verdict{v}, 30))
	if want := f.ID + "  fixed on 2026-03-10"; !strings.Contains(text.String(), want) ||
		!strings.Contains(text.String(), "8 nights after 50") {
		t.Errorf("text:\n%swant %q and 8 nights after 50", text.String(), want)
	}
	text.Reset()
	must.OK(t, WriteText(&text, []Verdict{v}, 6))
	if strings.Contains(text.String(), f.ID) {
		t.Errorf("the last 6 nights:\n%swant no event, since it was fixed 7 nights ago", text.String())
	}
	must.OK(t, WriteJSON(&list, []Verdict{v}))
	var back []map[string]any
	if err := json.Unmarshal([]byte(list.String()), &back); err != nil || back[0]["text"] != v.Text ||
		back[0]["schema"] != 2.0 {
		t.Errorf("JSON: got %s, %v", list.String(), err)
	}
}

// A verdict of a night with a metric missing, new or damaged is never "no regression", and names it.
func TestJudgeIncomplete(t *testing.T) {
	last := func(h *History) *Night { return &h.Nights[len(h.Nights)-1] }
	for _, test := range []struct {
		name   string
		nights int
		change func(*History)
		want   string
		whole  bool
	}{
		{"three nights", 3, func(*History) {}, "too early: 3 of 13 nights", true},
		{"a metric gone", 40, func(h *History) { last(h).Values = last(h).Values[1:] }, "gone: metric/00", false},
		{
			"new", 40, func(h *History) { last(h).Values[1].Metric = "other" },
			"(gone: metric/01); new: other; too early, before 13 nights, for other (1)", false,
		},
		{
			"damaged", 40, func(h *History) { last(h).Values[0].Wall = last(h).Values[0].Wall[:9] },
			"damaged: metric/00: 9 samples, want 10", false,
		},
		{"a line", 40, func(h *History) { h.lastBad = 999 }, "damaged: line 999 of the file", false},
		{"an old line", 40, func(h *History) { h.lastBad = 3; last(h).line = 80 }, ": no regression", true},
		{"gone long ago", 40, func(h *History) {
			for i := 10; i < 40; i++ {
				h.Nights[i].Values = h.Nights[i].Values[1:]
			}
		}, ": no regression", true},
	} {
		h := small(test.nights)
		test.change(h)
		v := verdictOn(t, h)
		if !strings.Contains(v.Text, test.want) || (v.Incomplete() == "") != test.whole {
			t.Errorf("%s: got %q, incomplete %q, want %q, and whole: %v",
				test.name, v.Text, v.Incomplete(), test.want, test.whole)
		}
		if strings.Contains(v.Text, "no regression") != strings.Contains(test.want, "no regression") {
			t.Errorf("%s: got %q, want %q", test.name, v.Text, test.want)
		}
	}
	h := small(40)
	last(h).Values = append(last(h).Values, Measurement{"more", "ms", last(h).Values[0].Wall, nil, nil})
	if v := verdictOn(t, h); !slices.Equal(v.New, []string{"more"}) ||
		!strings.Contains(v.Text, "new: more; too early, before 13 nights, for more (1)") ||
		strings.Contains(v.Text, "no regression") {
		t.Errorf("new: got %q, %q, want it named", v.New, v.Text)
	}
}

// Nights later than now are named and left out: they neither hide an event nor make one.
func TestJudgeLater(t *testing.T) {
	h := slowed(64)
	now := h.Nights[63].Time
	h.Nights[63].Time = h.Nights[63].Time.AddDate(1, 0, 0)
	v := DefaultRule().Judge(h, now, nil)
	if v.Nights != 63 || len(v.Open()) != 1 || !slices.Equal(v.Later, []string{"20260305T020000Z"}) ||
		len(v.Warnings()) != 1 || !strings.Contains(v.Warnings()[0], "later than now and left out: 20260305T020000Z") {
		t.Errorf("got %+v, %q, want the event of 63 nights, and the night in the future named", v, v.Warnings())
	}
	v = DefaultRule().Judge(h, h.Nights[0].Time.Add(-time.Second), nil)
	if want := "not known (damaged: all nights, which are later than now)"; !strings.Contains(v.Text, want) ||
		v.Incomplete() == "" || len(v.Later) != 64 {
		t.Errorf("all in the future: got %q, want %q", v.Text, want)
	}
	for _, write := range []func(io.Writer) error{
		func(w io.Writer) error { return WriteText(w, []Verdict{v}, 30) },
		func(w io.Writer) error { return WriteJSON(w, []Verdict{v}) },
		func(w io.Writer) error { return WriteOpenMetrics(w, []Verdict{v}) },
		func(w io.Writer) error { return WriteGitHub(w, w, []Verdict{v}) },
		func(w io.Writer) error { return WritePage(w, h, DefaultRule(), v) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil || strings.Contains(b.String(), "NaN") ||
			strings.Contains(b.String(), "-62135") { // the year 1
			t.Errorf("all in the future: got %v, %s", err, b.String())
		}
	}
}

func TestAlternating(t *testing.T) {
	for _, test := range []struct{ hosts, want string }{
		{"a a a", ""}, {"a a b b", ""}, {"a b c", ""}, {"a a b a", "a b"}, {"a - b - a", "a b"}, {"- - -", ""},
	} {
		h := small(len(strings.Fields(test.hosts)))
		for i, host := range strings.Fields(test.hosts) {
			h.Nights[i].Host = strings.Trim(host, "-")
		}
		if got := strings.Join(verdictOn(t, h).Hosts, " "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.hosts, got, test.want)
		}
	}
}

// A slower time with as many instructions is not more work.
func TestJudgeInstructions(t *testing.T) {
	for factor, want := range map[float64]string{
		1: "as many instructions as before (+0.0 %)", 1.01: "as many instructions as before (+1.0 %)",
		1.12: "instructions +12 %",
	} {
		h := slowed(70)
		for i := range h.Nights {
			count := 1e9
			if i >= 60 {
				count *= factor
			}
			h.Nights[i].Values = append(h.Nights[i].Values,
				Measurement{instructionsOf + "metric/00", "count", slices.Repeat([]float64{count}, 10), nil, nil})
		}
		v := verdictOn(t, h)
		if len(v.Events) != 1 || !strings.HasPrefix(v.Events[0].Note, want) {
			t.Errorf("%g times the instructions: got %+v, want one event with %q", factor, v.Events, want)
		}
	}
}

// An accepted event is closed, also where another level gave it another ID; a new cause is not.
func TestAccept(t *testing.T) {
	path := written(t, t.TempDir(), slowed(70))
	h, _ := Read(path)
	v := verdictOn(t, h)
	f := v.Open()[0]
	if err := Accept(h, f, " \n", time.Now()); err == nil || !strings.Contains(err.Error(), "no reason") {
		t.Errorf("no reason: got %v, want an error", err)
	}
	when := time.Date(2026, 3, 12, 12, 0, 0, 0, time.UTC)
	must.OK(t, Accept(h, f, "a better loss,\n\"slower\"", when))
	accepted, bad := ReadAcceptances(path)
	want := Acceptance{"2026-03-12T12:00:00Z", f.ID, f.FirstRun, "metric/00 metric/01", `a better loss, "slower"`}
	if len(bad) > 0 || !reflect.DeepEqual(accepted, []Acceptance{want}) {
		t.Fatalf("kept: got %+v, %v, want %+v", accepted, bad, want)
	}
	if v := verdictOn(t, h, accepted...); len(v.Open()) > 0 || v.Events[0].State != Accepted ||
		!strings.HasSuffix(v.Events[0].Text, `: a better loss, "slower"`) ||
		!strings.Contains(v.Text, ": no regression") {
		t.Errorf("accepted: got %+v", v)
	}
	must.OK(t, Accept(h, f, "again", when))
	if accepted, _ = ReadAcceptances(path); len(accepted) != 2 {
		t.Errorf("two acceptances: got %+v", accepted)
	}
	accepted = accepted[:1]
	accepted[0].ID = "000000"
	if v := verdictOn(t, h, accepted...); len(v.Open()) > 0 {
		t.Errorf("another ID, the same first night and metrics: got %q, want it accepted", v.Text)
	}
	accepted[0].Metrics = "metric/02"
	if v := verdictOn(t, h, accepted...); len(v.Open()) != 1 {
		t.Errorf("another ID and other metrics: got %q, want it open", v.Text)
	}
	if all, bad := ReadFolder(filepath.Dir(path)); len(all) != 1 || len(bad) > 0 {
		t.Errorf("folder: got %d histories, %v, want the one", len(all), bad)
	}
	must.OK(t, os.WriteFile(acceptedPath(path), []byte("x\n"), 0o600))
	if _, bad := ReadAcceptances(path); len(bad) != 1 {
		t.Errorf("damaged: got %v, want one error", bad)
	}
}

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

func TestWriteGitHub(t *testing.T) {
	h := slowed(64)
	for i := range h.Nights {
		h.Nights[i].Version += "|100%\n::error::x"
	}
	h.Nights[63].Values = h.Nights[63].Values[:2]
	var log, page strings.Builder
	must.OK(t, WriteGitHub(&log, &page, []Verdict{verdictOn(t, h)}))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "::warning title=rollcall%3A not judged::gone: metric/02") ||
		!strings.HasPrefix(lines[1], "::error title=rollcall is slower::") ||
		!strings.Contains(lines[1], "v2|100%25%0A::error") {
		t.Errorf("annotations: got %q", lines)
	}
	for _, want := range []string{"| **open** | 2026-03-02 | v2\\|100% ::error::x | v1", "| metric/01 | +12 % |"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("summary:\n%s\nwant %q in it", page.String(), want)
		}
	}
}

// TestWriteOpenMetrics has a small file as a whole; TestTrackOpenMetrics reads one with Prometheus's own parser.
func TestWriteOpenMetrics(t *testing.T) {
	h := slowed(64)
	h.Machine = Machine{Device: `a "CPU"`, Name: `x\y`}
	v := verdictOn(t, h)
	var text strings.Builder
	must.OK(t, WriteOpenMetrics(&text, []Verdict{v}))
	for _, want := range []string{
		"# TYPE rollcall_open_regressions gauge\n",
		fmt.Sprintf(`rollcall_open_regressions{machine="x\\y, a \"CPU\"%s",fingerprint="%s"} 1`+"\n",
			strings.TrimPrefix(v.Machine, `x\y, a "CPU"`), v.Fingerprint),
		`event="` + v.Events[0].ID + `",state="open",version="v2",metric="metric/01",unit="ms"} 0.1`,
		"} 1772416800\n", // 2026-03-02 02:00:00 UTC
		"# EOF\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("got\n%s\nwant %q in it", text.String(), want)
		}
	}
}

// Histories of schema 2 are read and go on: their header becomes that of schema 3, their rows stay.
func TestSchemaBefore(t *testing.T) {
	dir := t.TempDir()
	h := small(2)
	path := written(t, dir, h)
	now := string(must.Get(os.ReadFile(path))(t))
	old := strings.ReplaceAll(strings.Replace(now, ",host,machine\n", "\n", 1), ",,\n", "\n")
	old = strings.ReplaceAll(old, "\n3,", "\n2,")

	must.OK(t, os.WriteFile(path, []byte(old), 0o600))
	back, bad := Read(path)
	if len(bad) > 0 || len(back.Nights) != 2 || back.Machine != h.Machine {
		t.Fatalf("read: got %v, %v, want two nights", back, bad)
	}
	next := small(3).Nights[2]
	next.Host = "box"
	w := must.Get(NewWriter(dir))(t)
	defer w.Close()
	must.OK(t, w.Append(h.Machine, next))
	text := string(must.Get(os.ReadFile(path))(t))
	_, rows, _ := strings.Cut(old, "\n")
	if !strings.HasPrefix(text, header()+"\n"+rows+"3,") {
		t.Errorf("appended:\n%s\nwant the new header, the old rows and the night", text)
	}
	if back, bad = Read(path); len(bad) > 0 || len(back.Nights) != 3 || back.Nights[2].Host != "box" {
		t.Errorf("read again: got %v, %v, want three nights, the last one of box", back, bad)
	}
}
