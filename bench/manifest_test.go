package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// manifest is a document of YAML, or a part of one: a map[string]any, an []any, a string, an int or a bool.
type manifest struct{ value any }

// at returns what lies at a path of keys and of indices; a manifest of nil: nothing does.
func (m manifest) at(path ...any) manifest {
	for _, step := range path {
		switch v := m.value.(type) {
		case map[string]any:
			key, _ := step.(string)
			m.value = v[key]
		case []any:
			i, isIndex := step.(int)
			if m.value = nil; isIndex && i < len(v) {
				m.value = v[i]
			}
		default:
			return manifest{}
		}
	}
	return m
}

// text returns a string; "": it is none.
func (m manifest) text() string {
	text, _ := m.value.(string)
	return text
}

// list returns the items of a list; nil: it is none.
func (m manifest) list() (items []manifest) {
	values, _ := m.value.([]any)
	for _, v := range values {
		items = append(items, manifest{v})
	}
	return items
}

// texts returns a list of strings; items of other kinds are "".
func (m manifest) texts() (texts []string) {
	for _, item := range m.list() {
		texts = append(texts, item.text())
	}
	return texts
}

// readManifests reads documents of that part of YAML in which the manifests are written: maps and lists by indentation,
// lists of words in brackets, strings in double quotes, whole numbers, true and false. It refuses anything else.
// TestClusterSchema compares what it reads with what PyYAML does.
func readManifests(t *testing.T, name, text string) (documents []manifest) {
	t.Helper()
	p := &manifestReader{t: t, name: name}
	flush := func() {
		if len(p.lines) == 0 {
			return
		}
		documents = append(documents, manifest{p.block(p.lines[0].indent)})
		if len(p.lines) > 0 {
			p.refuse("indented less than what is before it")
		}
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\n")
		if line == "---" {
			flush()
			continue
		}
		words := strings.TrimLeft(line, " ")
		if strings.HasPrefix(words, "#") {
			continue
		}
		words, _, _ = strings.Cut(words, " #")
		if words = strings.TrimRight(words, " "); words != "" {
			indent := len(line) - len(strings.TrimLeft(line, " "))
			p.lines = append(p.lines, manifestLine{number, indent, words})
		}
	}
	flush()
	return documents
}

// manifestLine is a line without its comment.
type manifestLine struct {
	number, indent int
	text           string
}

// manifestReader reads the lines that are left of a document.
type manifestReader struct {
	t     *testing.T
	name  string
	lines []manifestLine
}

func (p *manifestReader) refuse(why string) {
	p.t.Helper()
	p.t.Fatalf("%s:%d: %q: %s", p.name, p.lines[0].number, p.lines[0].text, why)
}

// block reads a map or a list, all of whose lines are indented alike or deeper.
func (p *manifestReader) block(indent int) any {
	p.t.Helper()
	if p.lines[0].indent != indent {
		p.refuse("want another indentation")
	}
	if strings.HasPrefix(p.lines[0].text, "- ") {
		var list []any
		for len(p.lines) > 0 && p.lines[0].indent == indent && strings.HasPrefix(p.lines[0].text, "- ") {
			item := p.lines[0].text[2:]
			if key, _, isMap := strings.Cut(item+" ", ": "); !isMap || strings.Contains(key, `"`) {
				list = append(list, p.scalar(item))
				p.lines = p.lines[1:]
				continue
			}
			p.lines[0].indent, p.lines[0].text = indent+2, item
			list = append(list, p.block(indent+2))
		}
		return list
	}
	m := map[string]any{}
	for len(p.lines) > 0 && p.lines[0].indent == indent && !strings.HasPrefix(p.lines[0].text, "- ") {
		key, value, isPair := strings.Cut(p.lines[0].text+" ", ": ")
		if _, twice := m[key]; !isPair || twice || strings.ContainsAny(key, `"'[{ `) {
			p.refuse("want a key of its own, and a value")
		}
		if value = strings.TrimSpace(value); value != "" {
			m[key] = p.scalar(value)
			p.lines = p.lines[1:]
			continue
		}
		first := p.lines[0]
		if p.lines = p.lines[1:]; len(p.lines) == 0 || p.lines[0].indent <= indent {
			p.t.Fatalf("%s:%d: %q: no value, want one", p.name, first.number, first.text)
		}
		m[key] = p.block(p.lines[0].indent)
	}
	return m
}

// scalar reads a value that stands in one line.
func (p *manifestReader) scalar(text string) any {
	p.t.Helper()
	if inner, isList := strings.CutPrefix(text, "["); isList && strings.HasSuffix(inner, "]") {
		var list []any
		for item := range strings.SplitSeq(strings.TrimSuffix(inner, "]"), ",") {
			list = append(list, p.scalar(strings.TrimSpace(item)))
		}
		return list
	}
	if quoted, err := strconv.Unquote(text); err == nil && text[0] == '"' {
		return quoted
	}
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	switch {
	case text == "true" || text == "false":
		return text == "true"
	case text == "" || strings.ContainsAny(text, "\"'[]{}&*!|>%@`") || strings.Contains(text, ": "),
		strings.Contains(" yes no on off null ~ ", " "+strings.ToLower(text)+" "):
		p.refuse("a value that this test cannot read, want a plain one")
	}
	return text
}

// clusterFiles returns the text of every manifest by its path in the repository; of part.yaml, the text of part 2.
func clusterFiles(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../docs/cluster/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("../docs/cluster/*.yaml: %q, %v, want the manifests", paths, err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		texts["docs/cluster/"+filepath.Base(path)] = strings.ReplaceAll(contents(t, path), "PART", "2")
	}
	return texts
}

// schemaScript reads manifests, prints them as JSON, and prints what is wrong with them by the schemas of the first
// Kubernetes that has all their fields and of the newest known, which take no field that they do not know.
const schemaScript = `
import json, sys, yaml, kubernetes_validate as k
documents, wrong = [], []
for d in yaml.safe_load_all(sys.stdin):
    documents.append(d)
    for version in ("1.29", k.latest_version()):
        try:
            k.validate(d, version, strict=True)
        except k.ValidationError as e:
            wrong.append("%s: %s: %s: %s" % (version, d["kind"], ".".join(map(str, e.path)), e.message))
json.dump({"documents": documents, "wrong": wrong}, sys.stdout)
`

// schemaSaid is what schemaScript prints.
type schemaSaid struct {
	Documents []any
	Wrong     []string
}

// schemaOf runs schemaScript.
func schemaOf(t *testing.T, text string) (said schemaSaid) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "python3", "-c", schemaScript)
	cmd.Stdin, cmd.Stderr = strings.NewReader(text), os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return said
}

// The manifests are what the schemas of Kubernetes want, with no field that they do not know.
func TestClusterSchema(t *testing.T) {
	if out, err := exec.Command("python3", "-c", "import kubernetes_validate, yaml").CombinedOutput(); err != nil {
		t.Skipf("no python3 with kubernetes_validate here: pip install kubernetes-validate==1.33.1: %v %s",
			err, bytes.TrimSpace(out))
	}
	files := clusterFiles(t)
	for name, text := range files {
		t.Run(name, func(t *testing.T) {
			said := schemaOf(t, text)
			for _, wrong := range said.Wrong {
				t.Errorf("%s: %s", name, wrong)
			}
			var read []any
			for _, d := range readManifests(t, name, text) {
				read = append(read, d.value)
			}
			got, err := json.Marshal(read)
			if err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(said.Documents)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("readManifests reads\n%s, PyYAML\n%s", got, want)
			}
		})
	}
	job := files[clusterJob]
	for _, c := range []struct{ name, old, planted, want string }{
		{"unknown field of a job", "backoffLimitPerIndex:", "backoffLimits:", "'backoffLimits' was unexpected"},
		{"unknown field of a mount", "- name: out\n", "- name: out\n              at: /out\n", "'at' was unexpected"},
		{"text for a number", "completions: 8", "completions: eight", "'eight' is not of type 'integer'"},
		{"text for a status", "values: [130]", `values: ["130"]`, "'130' is not of type 'integer'"},
		{"number for a text", `status: "True"`, "status: 1", "1 is not of type 'string'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			planted := strings.Replace(job, c.old, c.planted, 1)
			if planted == job {
				t.Fatalf("%s has no %q", clusterJob, c.old)
			}
			if wrong := schemaOf(t, planted).Wrong; len(wrong) != 2 || !strings.Contains(wrong[0], c.want) {
				t.Errorf("%q, want %q by both schemas", wrong, c.want)
			}
		})
	}
}
