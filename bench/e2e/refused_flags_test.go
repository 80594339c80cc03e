package e2e

import (
	"strings"
	"testing"
)

// Options that would be overridden by another one, or that nothing looks at.
func TestOverriddenOptions(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{
			"figure fedar-f5 --clients 5 --seeds 3 --rounds 2",
			"--clients 5: figure fedar-f5 varies clients itself, want it without",
		},
		{"figure fedar-f1 --ema 0.5", "--ema: of no use with figure fedar-f1, want it with fedawe-f7"},
		{
			"availability --kind sine --nu 0.5",
			"--nu 0.5: of no use with --kind sine --data synthetic, want it with --availability markov",
		},
		{"availability --kind markov --p 0.5", "--p 0.5: of no use with --kind markov"},
		{"availability --data leaf --train-size 100", "--train-size 100: of no use with --kind stationary --data leaf"},
		{"availability --trace x.csv", "--trace"},
		{
			"sweep --methods mifa,fedau --rates mifa=0.1,fedau=0.2 --lr 0.3",
			"--lr 0.3: --rates gives every method its own",
		},
		{
			"sweep --methods mifa --rates mifa=0.1/2 --server-lr 0.3",
			"--server-lr 0.3: --rates gives every method its own",
		},
		{"sweep --methods mifa --rates mifa=0.1,mifa=0.2", `--rates "mifa=0.2": mifa twice, want it once`},
		{
			"sweep --methods mifa --data leaf --augment batch",
			"--augment batch: of no use in any cell of this sweep, want it with images",
		},
		{"run --data leaf --augment sample", "--augment sample: of no use with"},
		{"run --data leaf --init torch", "--init torch: of no use with"},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Chdir(t.TempDir())
			oneLineError(t, rollcall(t, strings.Fields(c.line)...), statusUsage, c.want)
		})
	}
}

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
