package e2e

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"rollcall/results/scoreboard"
)

// What people read to the end: a README of a few screens, and lines that fit beside each other.
const (
	docsReadmeLines = 150
	docsColumns     = 120
	docsImageBytes  = 150 << 10
)

// TestDocsLines checks the lengths of the README and of every line of the pages, but for what a command writes
// into them.
func TestDocsLines(t *testing.T) {
	for _, p := range docsMarkdown(t) {
		lines := strings.Split(strings.TrimSuffix(p.text, "\n"), "\n")
		if n := len(lines); p.name == "README.md" && n > docsReadmeLines {
			t.Errorf("README.md: %d lines, want at most %d", n, docsReadmeLines)
		}
		written := false
		for i, line := range lines {
			written = (written || scoreboard.BlockCommand(line) != nil) && line != scoreboard.BlockEnd
			if n := utf8.RuneCountInString(line); n > docsColumns && !written {
				t.Errorf("%s:%d: %d columns, want at most %d", p.name, i+1, n, docsColumns)
			}
		}
	}
}

var (
	docsLink    = regexp.MustCompile(`(!?)\[[^\]]*\]\(([^)\s]+)\)`)
	docsHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	docsCode    = regexp.MustCompile("(?sm)^```.*?^```$")
)

// TestDocsLinks follows every relative link of the pages: the file must be there, and the heading in it.
func TestDocsLinks(t *testing.T) {
	pages := map[string]string{}
	linked := map[string]bool{"README.md": true}
	for _, p := range docsMarkdown(t) {
		pages[p.name] = docsCode.ReplaceAllString(p.text, "")
	}
	for name, text := range pages {
		for _, m := range docsLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[2], "://") {
				continue
			}
			to, heading, _ := strings.Cut(m[2], "#")
			file := name
			if to != "" {
				file = path.Join(path.Dir(name), to)
			}
			linked[file] = linked[file] || name == "README.md"
			info, err := os.Stat("../../" + file)
			switch {
			case err != nil:
				t.Errorf("%s: link to %s: %v", name, m[2], err)
			case m[1] != "" && info.Size() > docsImageBytes:
				t.Errorf("%s: image %s: %d bytes, want at most %d", name, to, info.Size(), docsImageBytes)
			case heading != "" && !docsHasHeading(pages[file], heading):
				t.Errorf("%s: link to %s: %s has no such heading", name, m[2], file)
			}
		}
	}
	for name := range pages {
		if !linked[name] {
			t.Errorf("%s: README.md has no link to this page, want one", name)
		}
	}
}

// docsMarkdown returns the pages that are files.
func docsMarkdown(t *testing.T) (pages []docsPage) {
	t.Helper()
	for _, p := range docsPages(t) {
		if path.Ext(p.name) == ".md" {
			pages = append(pages, p)
		}
	}
	return pages
}

// docsHasHeading reports whether a page has a heading with this anchor: GitHub makes it of the heading's letters in
// lower case, its digits and hyphens, and a hyphen for each blank.
func docsHasHeading(text, anchor string) bool {
	for _, m := range docsHeading.FindAllStringSubmatch(text, -1) {
		made := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		if made == anchor {
			return true
		}
	}
	return false
}
