package track

import (
	"encoding/json"
	"io"
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
		func(w io.Writer) error { return WritePage(w, h, v) },
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
