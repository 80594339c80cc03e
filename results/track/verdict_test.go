package track

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"rollcall/internal/must"
)

func TestJudge(t *testing.T) {
	rule := DefaultRule()
	judged := func(nights int, recent int) Verdict {
		h := steps(nights, map[int]float64{60: 1.05, 120: 0.9})
		for i := 60; i < nights; i++ {
			h.Nights[i].Version = "v2"
		}
		return Judge(h, rule.Trends(h), recent)
	}
	for _, test := range []struct {
		nights, recent          int
		slower, faster, earlier int
		text                    string
	}{
		{62, 1, 0, 0, 0, "no regression"},
		{63, 1, 1, 0, 0, "1 regression, worst metric/00 +5."},
		{64, 1, 0, 0, 1, "no regression"},
		{64, 2, 1, 0, 0, "1 regression, worst metric/00 +5."},
		{123, 1, 0, 1, 1, "no regression, 1 faster"},
	} {
		v := judged(test.nights, test.recent)
		if len(v.Regressions) != test.slower || len(v.Improvements) != test.faster || len(v.Earlier) != test.earlier ||
			!strings.Contains(v.Text, test.text) {
			t.Errorf("%d nights, last %d: got %d slower, %d faster, %d earlier, %q, want %d, %d, %d, %q",
				test.nights, test.recent, len(v.Regressions), len(v.Improvements), len(v.Earlier), v.Text, test.slower,
				test.faster, test.earlier, test.text)
		}
	}
	v := judged(63, 1)
	f := v.Regressions[0]
	if f.FirstRun != "20260302T020000Z" || f.ConfirmedRun != "20260304T020000Z" || f.FirstVersion != "v2" ||
		f.LastVersion != "v1" {
		t.Errorf("finding: got %+v, want first run 20260302T020000Z of v2 after v1, confirmed by 20260304T020000Z", f)
	}
	var text, list strings.Builder
	must.OK(t, WriteText(&text, []Verdict{v}))
	for _, want := range []string{
		"SLOWER  metric/00", "since 20260302T020000Z (v2, before it v1)", "3 nights after 50",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("text:\n%swant %q in it", text.String(), want)
		}
	}
	must.OK(t, WriteJSON(&list, []Verdict{v}))
	var back []Verdict
	if err := json.Unmarshal([]byte(list.String()), &back); err != nil || !reflect.DeepEqual(back, []Verdict{v}) {
		t.Errorf("JSON: got %+v, %v, want %+v", back, err, v)
	}
}
