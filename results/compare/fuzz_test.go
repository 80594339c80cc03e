package compare

import (
	"strings"
	"testing"
)

// FuzzLaTeX: nothing that LaTeX reads as its own is left of a text, but for the macros that stand for its characters.
func FuzzLaTeX(f *testing.F) {
	f.Add(`\input{/etc/passwd} 50% of $x_1^2$ & ~#{}`)
	f.Add("α ≥ 0.1 ± η")
	f.Fuzz(func(t *testing.T, text string) {
		left := strings.NewReplacer(
			`\textbackslash{}`, "", `\textasciitilde{}`, "", `\textasciicircum{}`, "", `$\pm$`, "", `$\gamma$`, "",
			`$\alpha$`, "", `$\geq$`, "", `$\eta$`, "", `$\beta$`, "",
			`\&`, "", `\%`, "", `\$`, "", `\#`, "", `\_`, "", `\{`, "", `\}`, "",
		).Replace(escapeLaTeX(text))
		if i := strings.IndexAny(left, `\&%$#_{}~^`); i >= 0 {
			t.Errorf("%q is set as %q, which has %q", text, escapeLaTeX(text), left[i:i+1])
		}
	})
}
