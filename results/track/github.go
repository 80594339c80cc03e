package track

import (
	"fmt"
	"io"
	"strings"
)

// WriteGitHub writes verdicts for a step of GitHub Actions: annotations to log, which GitHub shows above the job's log,
// and Markdown to summary, which it shows as the job's summary.
func WriteGitHub(log, summary io.Writer, verdicts []Verdict) error {
	var notes, page strings.Builder
	note := func(kind, title, text string) {
		fmt.Fprintf(&notes, "::%s title=%s::%s\n", kind, property(title), data(text))
	}
	page.WriteString("## Speed\n")
	for _, v := range verdicts {
		fmt.Fprintf(&page, "\n**%s**, %s, run %s\n\n%s\n",
			markdown(v.Fingerprint), markdown(v.Machine), markdown(v.Run), markdown(v.Text))
		if missing := v.Incomplete(); missing != "" {
			note("warning", "rollcall: not judged", missing)
		}
		for _, line := range v.Warnings() {
			note("warning", "rollcall", line)
		}
		if len(v.Events) > 0 {
			page.WriteString("\n| event | state | since | version | before | metric | change |\n" +
				"|---|---|---|---|---|---|---|\n")
		}
		for _, f := range v.Events {
			if f.State.IsOpen() {
				note("error", "rollcall is slower", f.ID+" "+f.Text)
			}
			for i, m := range f.Metrics {
				cells := []string{"", "", "", "", ""}
				if i == 0 {
					state := string(f.State)
					if f.State.IsOpen() {
						state = "**" + state + "**"
					}
					since, _, _ := strings.Cut(f.FirstTime, "T")
					cells = []string{f.ID, state, since, markdown(f.FirstVersion), markdown(f.LastVersion)}
				}
				cells = append(cells, markdown(m.Metric), percent(m.Change))
				fmt.Fprintf(&page, "| %s |\n", strings.Join(cells, " | "))
			}
		}
	}
	if _, err := io.WriteString(log, notes.String()); err != nil {
		return err
	}
	_, err := io.WriteString(summary, page.String())
	return err
}

// data escapes the text of a workflow command, and property one of its properties.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func property(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(text))
}

// markdown escapes what Markdown would take for its own.
func markdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "&", "&amp;",
		"[", `\[`, "\n", " ").Replace(text)
}
