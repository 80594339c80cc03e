package e2e

import (
	"strings"
	"testing"
)

// A caption is of LaTeX and Markdown, a label of LaTeX alone, and --out finds a cell by a part of its name alone.
func TestOverriddenResultsOptions(t *testing.T) {
	out := t.TempDir()
	pass(t, sweepOf(out, "--methods", "mifa")...)
	for _, c := range [][]string{
		{"markdown", "label", "latex"},
		{"csv", "label", "latex"},
		{"csv", "caption", "latex or markdown"},
	} {
		oneLineError(t, rollcall(t, "results", "export", "sweep", out, "--format", c[0], "--"+c[1], "x"), statusUsage,
			"--"+c[1]+": of no use with --format "+c[0]+", want it with --format "+c[2])
	}
	if latex := pass(t, "results", "export", "sweep", out, "--format", "latex",
		"--caption", "x").stdout; !strings.Contains(latex, `\caption{x}`) {
		t.Errorf("%q, want the caption", latex)
	}
	oneLineError(t, rollcall(t, "results", "show", out, "--out", out), statusUsage,
		"--out "+out+": of no use with a cell's folder")
	latex := pass(t, "results", "export", "sweep", out, "--format", "latex", "--label", "tab:our_sweep-1").stdout
	if !strings.Contains(latex, `\label{tab:our_sweep-1}`) {
		t.Errorf("%q, want the label", latex)
	}
	for _, label := range []string{"a}b", "a{b", `a\b`, "a%b", "a#b", "a b", "a\nb", "a~b", "a,b"} {
		oneLineError(t, rollcall(t, "results", "export", "sweep", out, "--format", "latex", "--label", label),
			statusUsage, "--label ", `want none of {}\%`)
	}
}
