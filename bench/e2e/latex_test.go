package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// texDocuments are papers of one column and of two, whose widths are those of conferences.
var texDocuments = map[string]string{
	"one column":  "\\documentclass{article}\n\\usepackage[textwidth=3.25in]{geometry}\n",
	"two columns": "\\documentclass[twocolumn]{article}\n\\usepackage[textwidth=6.75in,columnsep=0.25in]{geometry}\n",
}

var overfull = regexp.MustCompile(`Overfull \\hbox \(([0-9.]+)pt too wide\)`)

// setInTeX compiles a table, or a paragraph, in a document. It returns pdfTeX's log, which says "shrunk" if the table
// was too wide for the text.
func setInTeX(t *testing.T, document, latex string) (log string) {
	t.Helper()
	pdflatex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("no pdflatex (apt-get install texlive-latex-base texlive-latex-recommended): LaTeX is not compiled")
	}
	dir := t.TempDir()
	must.OK(t, os.WriteFile(filepath.Join(dir, "paper.tex"), []byte(document+
		"\\usepackage{booktabs,graphicx}\n"+
		"\\let\\shrink\\resizebox\\renewcommand\\resizebox[2]{\\typeout{shrunk}\\shrink{#1}{#2}}\n"+
		"\\begin{document}\n"+latex+"\nText.\n\\end{document}\n"), 0o666))
	cmd := exec.CommandContext(t.Context(), pdflatex, "-halt-on-error", "-interaction=nonstopmode", "paper")
	cmd.Dir = dir
	// Nothing of the user's own, and fonts that pdfTeX has to make stay here.
	cmd.Env = append(os.Environ(), "HOME="+dir, "TEXMFVAR="+dir, "max_print_line=1000")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pdflatex: %v\n%s\n%s", err, out, latex)
	}
	for _, wide := range overfull.FindAllStringSubmatch(string(out), -1) {
		if by, _ := strconv.ParseFloat(wide[1], 64); by > 1 {
			t.Errorf("%s, want less than 1 pt:\n%s", wide[0], latex)
		}
	}
	return string(out)
}

// Exported tables of all shapes compile and are no wider than the text; those of a few columns need not be shrunk.
func TestLaTeXTables(t *testing.T) {
	top := t.TempDir()
	sweep := func(name, more string) string {
		out := filepath.Join(top, name)
		pass(t, smallSweep(out, strings.Fields(more)...)...)
		return out
	}
	const methods = "--methods fedawe,fedavg-active,mifa,fedau "
	one := sweep("one", methods+"--availability sine --seeds 1,2,3")
	three := sweep("three", methods+
		"--availability stationary,sine,staircase --seeds 1,2,3 --rates fedau=0.1/1 --rates mifa=0.05/2")
	long := sweep("long", "--methods f3ast --availability sine --seeds 1 --f3ast-beta 0.006666666666666667 "+
		"--f3ast-limit 3 --f3ast-memoryless")
	pass(t, smallSweep(long, strings.Fields("--methods f3ast,fedau --availability sine --seeds 1,2")...)...)
	data := sweep("data", methods+"--availability stationary,sine --seeds 1,2")
	pass(t, strings.Fields("sweep --data binary --clients 4 --rounds 4 --p 0.8 --device cpu --threads 1 --seeds 1 "+
		methods+"--availability stationary,sine --out "+data)...)
	// A summary without its runs may name methods of a user's own, and seeds that failed.
	names := strings.NewReplacer(
		",mifa,", ",my_méthode_γ+(β) 2,", ",fedau,", ",方法,", ",ok,,", ",failed,50 % of x_1 & --y^2,")
	bare := filepath.Join(top, "bare")
	must.OK(t, os.Mkdir(bare, 0o777))
	must.OK(t, os.WriteFile(filepath.Join(bare, "summary.csv"),
		[]byte(names.Replace(contents(t, filepath.Join(one, "sweep/summary.csv")))), 0o666))
	const replay = "../../results/replay"
	const both = "one column, two columns"
	const every = "--metric last50,train_acc,final,best,rounds_to_20"
	for _, c := range []struct {
		name, line string
		fits       string // the documents in which it is not shrunk
		want       string
	}{
		{"one number", "sweep " + one, both, `FedAvg (active) &`},
		{"availabilities side by side", "sweep " + three, both, `\multicolumn{3}{c}{LEAF synthetic}`},
		{"two data sets", "sweep " + data, both, `\multicolumn{1}{r}{LEAF synthetic}`},
		{"every metric", "sweep " + data + " " + every, "", `\begin{table*}`},
		{"long labels", "sweep " + long, both, `\quad f3ast-memoryless=true`},
		{"methods chosen", "sweep " + one + " --methods mifa,fedawe --label tab:x_1", both, "\nMIFA & "},
		{"printed", "fedawe-2 " + replay + "/card/fp32 --printed", "", `ours & printed`},
		{
			"one printed number", "cafed-1 " + replay + "/cafed-1/code --printed --metric best", "two columns",
			`ours & printed`,
		},
		{"seven metrics", "fedar-3 " + replay + "/fedar-3 --printed", "", "table*"},
		{"names and notes", "sweep " + bare, both, `my\_méthode\_$\gamma$+($\beta$)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			latex := pass(t, strings.Fields("results export --format latex "+c.line)...).stdout
			if !strings.Contains(latex, c.want) {
				t.Errorf("%s\nwant %q in it", latex, c.want)
			}
			for name, document := range texDocuments {
				log := setInTeX(t, document, latex)
				if strings.Contains(c.fits, name) && strings.Contains(log, "shrunk") {
					t.Errorf("%s: shrunk, want a table that fits:\n%s", name, latex)
				}
			}
		})
	}
}

// No character of a caption stops pdfTeX, whatever a failure or a name has: those that its fonts lack become numbers.
func TestLaTeXCharacters(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	pass(t, smallSweep(out, "--methods", "fedawe,fedau", "--availability", "sine", "--seeds", "1,2")...)
	var b strings.Builder
	b.WriteString("κ̄² ≥ γ̂, β̃, ā and x́; --a <b> \"c\" `d` 'e' [f] *g* 50 % & #1 $x_1^2$ {} \\input ~ | ")
	for r := rune(0xA0); r < 0x2400; r++ {
		if r < 0x250 || 0x370 <= r && r < 0x400 || r >= 0x2000 {
			fmt.Fprintf(&b, "%c ", r)
		}
	}
	b.WriteString("日本 😀")
	latex := pass(t, "results", "export", "sweep", out, "--format", "latex", "--caption", b.String()).stdout
	log := setInTeX(t, texDocuments["two columns"], latex)
	if strings.Contains(log, "Missing character") {
		t.Errorf("characters are missing from the fonts:\n%s", log)
	}
	for _, want := range []string{`$\bar{\kappa}$$^2$ $\geq$ $\hat{\gamma}$`, "(U+65E5)(U+672C) (U+1F600)"} {
		if !strings.Contains(latex, want) {
			t.Errorf("%s\nwant %q", latex, want)
		}
	}
}

// The paragraph about a sweep says what its runs' run.json say, in sentences that LaTeX sets too.
func TestExportSetup(t *testing.T) {
	top := t.TempDir()
	sweep := func(name, more string) string {
		out := filepath.Join(top, name)
		pass(t, smallSweep(out, strings.Fields(more)...)...)
		return out
	}
	many := sweep("many",
		"--methods mifa,fedawe,fedau --availability stationary,sine --seeds 1,2,3 --rates fedau=0.2/2")
	one := sweep("one", "--methods fedau --availability sine --seeds 5 --clients 1 --p 1 --momentum 0.9 --batch 1")
	pass(t, small(top, "--method", "mifa")...)
	cut := sweep("cut", "--methods fedawe,mifa --availability sine --seeds 1,2")
	must.OK(t, os.Remove(only(t, cut, "sweep/mifa_*/seed-2/run.json")))
	for _, c := range []struct {
		name, line  string
		want, never []string
	}{
		{"several", "sweep " + many, []string{
			"We compare MIFA, FedAWE and FedAU on LEAF synthetic (δ = 0.5, γ = 0.5), with 4 clients.",
			"The model of availability is stationary or sine (a period of 20 rounds, γ = 0.3).",
			"a client trains for 1 local step on batches of 4 samples.",
			"Training takes 4 rounds, with an evaluation after every round.",
			"We report test accuracy (%), mean over all 4 rounds.",
			"learning rate is 0.05 for MIFA, 0.1 for FedAWE and 0.2 for FedAU.",
			"The server learning rate is 1 for MIFA and FedAWE and 2 for FedAU.", "FedAU has cutoff = 50",
			"All numbers are over the seeds 1, 2 and 3.", " in fp32 by the engine ", "the 18 runs took ",
		}, []string{"Left out", "Other settings"}},
		{"chosen", "sweep " + many + " --methods fedau,mifa --metric final", []string{
			"We compare FedAU and MIFA on ", "test accuracy (%), after the last round.", "the 12 runs took ",
		}, []string{"FedAWE"}},
		{"one of each", "sweep " + one, []string{
			"We train FedAU on ", "with 1 client.", "sine (a period of 20 rounds, γ = 0.3, p = 1).",
			"for 1 local step on batches of 1 sample, with momentum 0.9.",
			"All numbers are of one seed, 5.", "The run took ",
		}, []string{"1 samples", "1 clients"}},
		{"images", "run " + top, []string{
			"generated images (300 training images, 100 test images), with 6 clients. Each client's shares of the " +
				"classes are a draw from a Dirichlet distribution with α = 0.1.",
			"The net is lenet5, initialized by kaiming.",
		}, nil},
		{"without a run.json", "sweep " + cut, []string{
			"The numbers are over 1 to 2 seeds, of 1 and 2.",
			"Left out are runs that are not complete: 1 without a run.json.",
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			line := append([]string{"results", "export", "--setup"}, strings.Fields(c.line)...)
			text := pass(t, line...).stdout
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s\nwant %q in it", text, want)
				}
			}
			for _, never := range c.never {
				if strings.Contains(text, never) {
					t.Errorf("%s\nwant no %q", text, never)
				}
			}
			latex := pass(t, append(line, "--format", "latex")...).stdout
			for _, document := range texDocuments {
				setInTeX(t, document+"\\emergencystretch=3em\n", latex) // as for any prose in a narrow column
			}
		})
	}
	bare := filepath.Join(top, "bare")
	must.OK(t, os.Mkdir(bare, 0o777))
	must.OK(t, os.WriteFile(filepath.Join(bare, "summary.csv"), []byte(contents(t, many+"/sweep/summary.csv")), 0o666))
	oneLineError(t, rollcall(t, "results", "export", "sweep", bare, "--setup"), statusFailure,
		"no complete run of sweep")
	for line, want := range map[string]string{
		"--setup --format csv": "--setup", "--setup --printed": "--printed",
		"--setup --label x --format latex": "--label", "--methods mifa,mifa": "--methods",
	} {
		oneLineError(t, rollcall(t, append([]string{"results", "export", "sweep", many}, strings.Fields(line)...)...),
			statusUsage, want)
	}
	oneLineError(t, rollcall(t, "results", "export", "sweep", many, "--methods", "fedauu"), statusFailure,
		"did you mean fedau", "want one of mifa, fedawe, fedau")
}
