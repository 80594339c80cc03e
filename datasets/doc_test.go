package datasets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// The package comment names every file of the package, and no other.
func TestDocNamesFiles(t *testing.T) {
	doc := must.Get(os.ReadFile("doc.go"))(t)
	named := map[string]bool{"doc.go": true}
	for _, word := range strings.FieldsFunc(string(doc), func(r rune) bool {
		return strings.ContainsRune(" \t\n(),;", r)
	}) {
		if strings.HasSuffix(word, ".go") {
			named[word] = true
		}
	}
	files := must.Get(filepath.Glob("*.go"))(t)
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") && !named[file] {
			t.Errorf("doc.go does not name %s, want a line for it", file)
		}
		delete(named, file)
	}
	for file := range named {
		t.Errorf("doc.go names %s, which does not exist", file)
	}
}
