package compare

import (
	"strings"
	"testing"
)

func TestEscapeLaTeX(t *testing.T) {
	for text, want := range map[string]string{
		"50 % of x_1 & {#}":      `50 \% of x\_1 \& \{\#\}`,
		"α = 0.1, p ≥ 0.05":      `$\alpha$ = 0.1, p $\geq$ 0.05`,
		"κ̄² and ā, γ̂":          `$\bar{\kappa}$$^2$ and ā, $\hat{\gamma}$`,
		"--lr <1> \"a\" --- `b`": `-{}-lr \textless{}1\textgreater{} ''a'' -{}-{}- ` + "\\`{}b\\`{}",
		"two\n\nparagraphs\t.":   "two paragraphs .",
		"Łódź, żółw, ąę":         "Łódź, żółw, (U+0105)(U+0119)",
		"日本 😀\x00\xff":           "(U+65E5)(U+672C) (U+1F600)(U+0000)(U+FFFD)",
	} {
		if got := EscapeLaTeX(text); got != want {
			t.Errorf("%q is set as %q, want %q", text, got, want)
		}
	}
}

// FuzzLaTeX: nothing that LaTeX reads as its own is left of a text, but for the commands that stand for its characters.
func FuzzLaTeX(f *testing.F) {
	f.Add(`\input{/etc/passwd} 50% of $x_1^2$ & ~#{}`)
	f.Add("α ≥ 0.1 ± η, κ̄²\n\n--x")
	commands := []string{"-{}", "-", "{}-", "-"}
	for _, tex := range texText {
		commands = append(commands, tex, "")
	}
	for _, tex := range texMath {
		commands = append(commands, "$"+tex+"$", "")
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.Map(func(r rune) rune { // an accent takes any character into its braces
			if _, is := texAccents[r]; is {
				return 'x'
			}
			return r
		}, text)
		left := strings.NewReplacer(commands...).Replace(EscapeLaTeX(text))
		if i := strings.IndexAny(left, "\\&%$#_{}~^\n"); i >= 0 {
			t.Errorf("%q is set as %q, which has %q", text, EscapeLaTeX(text), left[i:i+1])
		}
	})
}
