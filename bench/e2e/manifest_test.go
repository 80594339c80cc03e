package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
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

// readManifests reads the documents of a file.
func readManifests(t *testing.T, name, text string) (documents []manifest) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var m manifest
		err := d.Decode(&m.value)
		if errors.Is(err, io.EOF) {
			return documents
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		documents = append(documents, m)
	}
}

// clusterFiles returns the text of every manifest by its path in the repository.
func clusterFiles(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/cluster/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("../../docs/cluster/*.yaml: %q, %v, want the manifests", paths, err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		texts["docs/cluster/"+filepath.Base(path)] = contents(t, path)
	}
	return texts
}

// schemaScript reads manifests and prints as JSON what is wrong with them by the schemas of the first Kubernetes that
// has all their fields and of the newest known, which take no field that they do not know.
const schemaScript = `
import json, sys, yaml, kubernetes_validate as k
wrong = []
for d in yaml.safe_load_all(sys.stdin):
    for version in ("1.29", k.latest_version()):
        try:
            k.validate(d, version, strict=True)
        except k.ValidationError as e:
            wrong.append("%s: %s: %s: %s" % (version, d["kind"], ".".join(map(str, e.path)), e.message))
json.dump(wrong, sys.stdout)
`

// schemaOf returns what is wrong with manifests.
func schemaOf(t *testing.T, text string) (wrong []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "python3", "-c", schemaScript)
	cmd.Stdin, cmd.Stderr = strings.NewReader(text), os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &wrong)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return wrong
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
			for _, wrong := range schemaOf(t, text) {
				t.Errorf("%s: %s", name, wrong)
			}
		})
	}
	job := files[clusterJob]
	for _, c := range []struct{ name, old, planted, want string }{
		{"unknown field of a job", "backoffLimitPerIndex:", "backoffLimits:", "'backoffLimits' was unexpected"},
		{"unknown field of a mount", "- name: out\n", "- name: out\n              at: /out\n", "'at' was unexpected"},
		{"text for a number", "completions: 8", "completions: eight", "'eight' is not of type 'integer'"},
		{"text for a status", "values: [75, 130]", `values: ["75", 130]`, "'75' is not of type 'integer'"},
		{"number for a text", `status: "True"`, "status: 1", "1 is not of type 'string'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			planted := strings.Replace(job, c.old, c.planted, 1)
			if planted == job {
				t.Fatalf("%s has no %q", clusterJob, c.old)
			}
			if wrong := schemaOf(t, planted); len(wrong) != 2 || !strings.Contains(wrong[0], c.want) {
				t.Errorf("%q, want %q by both schemas", wrong, c.want)
			}
		})
	}
}
