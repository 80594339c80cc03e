package track

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// WriteOpenMetrics writes verdicts in the OpenMetrics text format, which Prometheus reads. All are gauges, so that the
// file suits the textfile collector of node_exporter too. Families:
//
//	rollcall_open_regressions               events that are open, by machine
//	rollcall_regression_ratio               change of each slower metric of these, by event; 0.12 is 12 % slower
//	rollcall_regression_since_seconds       Unix time of the first night, by event
//	rollcall_metrics_compared               metrics of the last night with enough nights before it
//	rollcall_metrics_missing                metrics that the last night lacks, or that are damaged
//	rollcall_last_night_timestamp_seconds   Unix time of the last night
func WriteOpenMetrics(w io.Writer, verdicts []Verdict) error {
	type family struct {
		name, unit, help string
		lines            []string
	}
	families := []*family{
		{name: "rollcall_open_regressions", help: "Events that are open."},
		{
			name: "rollcall_regression_ratio", unit: "ratio",
			help: "Change of a slower metric of an open event; 0.12 is 12 % slower.",
		},
		{
			name: "rollcall_regression_since_seconds", unit: "seconds",
			help: "Unix time of the first night of an open event.",
		},
		{name: "rollcall_metrics_compared", help: "Metrics of the last night with enough nights before it."},
		{name: "rollcall_metrics_missing", help: "Metrics that the last night lacks, or that are damaged."},
		{
			name: "rollcall_last_night_timestamp_seconds", unit: "seconds",
			help: "Unix time of the last night that was judged.",
		},
	}
	add := func(i int, value float64, labels ...string) {
		var b strings.Builder
		for j := 0; j < len(labels); j += 2 {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `%s="%s"`, labels[j], label(labels[j+1]))
		}
		f := families[i]
		number := strconv.FormatFloat(value, 'f', -1, 64)
		f.lines = append(f.lines, fmt.Sprintf("%s{%s} %s\n", f.name, b.String(), number))
	}
	seconds := func(text string) float64 {
		t, _ := time.Parse(time.RFC3339, text) // which the verdict has written
		return float64(t.Unix())
	}
	for _, v := range verdicts {
		open := v.Open()
		machine := []string{"machine", v.Machine, "fingerprint", v.Fingerprint}
		add(0, float64(len(open)), machine...)
		for _, f := range open {
			event := append(machine[:4:4], "event", f.ID, "state", string(f.State), "version", f.FirstVersion)
			add(2, seconds(f.FirstTime), event...)
			for _, m := range f.Metrics {
				if m.worse {
					add(1, m.Change, append(event[:10:10], "metric", m.Metric, "unit", m.Unit)...)
				}
			}
		}
		add(3, float64(v.Compared), machine...)
		add(4, float64(len(v.Gone)+len(v.Damaged)), machine...)
		if v.Nights > 0 {
			add(5, seconds(v.Time), machine...)
		}
	}
	var b strings.Builder
	for _, f := range families {
		fmt.Fprintf(&b, "# TYPE %s gauge\n", f.name)
		if f.unit != "" {
			fmt.Fprintf(&b, "# UNIT %s %s\n", f.name, f.unit)
		}
		fmt.Fprintf(&b, "# HELP %s %s\n%s", f.name, f.help, strings.Join(f.lines, ""))
	}
	b.WriteString("# EOF\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// label escapes the value of a label.
func label(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(text, "\ufffd"))
}
