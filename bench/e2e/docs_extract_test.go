package e2e

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"rollcall/bench/cli"
)

// docsPage is a text that users read, and the commands it names.
type docsPage struct {
	name     string // README.md, or what prints it: `rollcall run --help`
	text     string
	commands []string // in their order, as they stand there, less comments
}

// docsPages are README.md, docs/*.md and the examples of every command.
func docsPages(t *testing.T) (pages []docsPage) {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("../../docs/*.md: %q, %v, want the pages", paths, err)
	}
	for _, path := range append([]string{"../../README.md"}, paths...) {
		text := contents(t, path)
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		pages = append(pages, docsPage{name, text, docsCommands(text)})
	}
	examples := docsPage{name: "examples of --help"}
	docsWalk(cli.Root(), func(c *cobra.Command) {
		if strings.HasPrefix(c.CommandPath(), "rollcall completion") {
			return // cobra's own
		}
		examples.text += c.Example + "\n"
		examples.commands = append(examples.commands, docsShell(c.Example)...)
	})
	return append(pages, examples)
}

// docsWalk calls f with a command and with all commands below it.
func docsWalk(c *cobra.Command, f func(c *cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		docsWalk(sub, f)
	}
}

// docsPrograms are the first words of spans of code that count as commands.
var docsPrograms = []string{
	"rollcall", "bin/rollcall", "bin/gpu-kit/card.sh", "make", "go", "eval", "docker", "python3", "apt-get",
	"tensorboard", "nvidia-smi", "nsys", "ncu",
}

var (
	docsSpan = regexp.MustCompile("`([^`\n]+)`")
	docsYAML = regexp.MustCompile(`^\s*(?:- )?(?:run: )?(.*?)\s*$`)
)

// docsCommands returns the commands of a page of Markdown: every line of its blocks of shell, and the spans of code
// that begin with a program. A block that is fenced as text or Python has none.
func docsCommands(text string) (commands []string) {
	var block []string
	inside, language, after := false, "", true // a block; its language; whether an indented block may begin
	flush := func() {
		switch language {
		case "yaml":
			commands = append(commands, docsSteps(block)...)
		case "python": // TestPyTorchWeights of bench/run does the same, and TestPythonRead runs what has rollcall_fl
		case "text": // drawings, and what commands print
		default:
			commands = append(commands, docsShell(strings.Join(block, "\n"))...)
		}
		block, language = nil, ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence:
			flush()
			if inside = !inside; inside {
				language = fence
			}
		case inside:
			block = append(block, line)
		case strings.HasPrefix(line, "    ") && (after || len(block) > 0):
			block = append(block, line)
		default:
			flush()
			for _, span := range docsSpan.FindAllStringSubmatch(line, -1) {
				words := strings.Fields(span[1])
				if len(words) > 1 && slices.Contains(docsPrograms, words[0]) {
					commands = append(commands, span[1])
				}
			}
			after = line == ""
		}
	}
	flush()
	return commands
}

// docsShell returns the commands of lines of shell. A line is a command; continued lines and loops are joined.
func docsShell(text string) (commands []string) {
	open := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		more, goesOn := strings.CutSuffix(line, `\`)
		open += more
		loop := strings.HasPrefix(open, "for ") && !strings.Contains(open, "done")
		switch {
		case goesOn:
		case loop && strings.HasSuffix(open, "do"):
			open += " "
		case loop:
			open += "; "
		default:
			commands, open = append(commands, open), ""
		}
	}
	return commands
}

// docsSteps returns the commands in the YAML of a pipeline: the lines that begin with a known program.
func docsSteps(lines []string) (commands []string) {
	for _, line := range lines {
		step, _, _ := strings.Cut(docsYAML.FindStringSubmatch(line)[1], "  #")
		if words := strings.Fields(step); len(words) > 1 && slices.Contains(docsPrograms, words[0]) {
			commands = append(commands, strings.TrimSpace(step))
		}
	}
	return commands
}
