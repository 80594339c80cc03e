package e2e

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/algos/availability"
	"rollcall/bench/cli"
	"rollcall/datasets"
	"rollcall/internal/must"
	"rollcall/nets/models"
	"rollcall/results"
	"rollcall/results/papers"
)

const docsExtensions = "go|md|csv|json|py|cu|cuh|sh|yaml|yml|svg|html|npy|ptx|gz|so|a|h|cuda|txt"

var (
	docsFlag     = regexp.MustCompile(`(?:^|[\s(\x60"/])--([a-z][a-z0-9-]*)`)
	docsFile     = regexp.MustCompile(`^(?:[\w.-]+/)*[\w-][\w.-]*\.(?:` + docsExtensions + `)$`)
	docsFolder   = regexp.MustCompile(`^(?:bench|algos|nets|datasets|results|docs)/[\w./]*$`)
	docsTestName = regexp.MustCompile(`\x60(Test\w+)(…?)\x60`)
	docsEnv      = regexp.MustCompile(`ROLLCALL_[A-Z_]+`)
)

// docsForeignFlags are flags in the pages that belong to other programs, with the program.
var docsForeignFlags = map[string]string{
	"rm": "docker", "gpus": "docker", "logdir": "tensorboard", "set": "ncu", "import-source": "ncu",
	"launch-skip": "ncu", "launch-count": "ncu", "import": "ncu", "page": "ncu",
	"cuda-graph-trace": "nsys", "for": "kubectl", "timeout": "kubectl",
	"no-index": "pip", "find-links": "pip", "fedaum-beta": "the method of docs/python.md",
	"joblog": "parallel", "termseq": "parallel", "wd": "parallel", "return": "parallel",
	// as far as docsFlag reads --deterministic_split, --smoothness_param, --total_rounds and --eval_freq
	"augmentation": "CA-Fed's code", "iid": "CA-Fed's code", "deterministic": "CA-Fed's code",
	"smoothness": "CA-Fed's code", "total": "FedAWE's code", "eval": "FedAWE's code",
}

// docsForeignFiles are files in the pages that the repository does not have and no command of the pages writes.
var docsForeignFiles = map[string]string{
	".github/workflows/nightly.yml": "of the reader's own repository",
	"libcuda.so":                    "what tests of the CUDA engine make of nets/gpu/emulator",
	"bin/gpu-kit/card.sh":           "packed by make gpu-kit",
	"clients_sampler.py":            "of CA-Fed's released code",
	"synthetic/run.sh":              "of CA-Fed's released code",
	"mnist/run.sh":                  "of CA-Fed's released code",
	"full_experiment.sh":            "of CA-Fed's released code",
	"results/history":               "the default of track's --history",
	"results/history/DEVICE_ENGINE_PRECISION_FINGERPRINT.csv": "written by track run, " +
		"whose names the tests of results/track hold",
}

// TestDocsNames looks up every flag, file, test and variable that a page names.
func TestDocsNames(t *testing.T) {
	flags := map[string]bool{"help": true}
	docsWalk(cli.Root(), func(c *cobra.Command) {
		for _, fs := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
			fs.VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		}
	})
	files, program, tests := docsRepository(t)
	used := map[string]bool{}
	for _, p := range docsPages(t) {
		for _, m := range docsFlag.FindAllStringSubmatch(p.text, -1) {
			if _, foreign := docsForeignFlags[m[1]]; foreign {
				used["--"+m[1]] = true
			} else if !flags[m[1]] {
				t.Errorf("%s: --%s: no command has this flag", p.name, m[1])
			}
		}
		for _, m := range docsTestName.FindAllStringSubmatch(p.text, -1) {
			if end := map[bool]string{true: "", false: "("}[m[2] != ""]; !strings.Contains(tests, "func "+m[1]+end) {
				t.Errorf("%s: %s%s: no such test", p.name, m[1], m[2])
			}
		}
		for _, name := range docsEnv.FindAllString(p.text, -1) {
			if !strings.Contains(program+tests, name) {
				t.Errorf("%s: %s: nothing reads this variable", p.name, name)
			}
		}
		var names []string
		for _, m := range docsSpan.FindAllStringSubmatch(p.text, -1) {
			names = append(names, m[1])
		}
		for word := range strings.FieldsSeq(strings.Join(p.commands, " ")) { // of other files their runs tell
			if ext := path.Ext(word); ext == ".py" || ext == ".cuda" || ext == ".yaml" {
				names = append(names, word)
			}
		}
		for _, name := range names {
			if docsFile.MatchString(name) || docsFolder.MatchString(name) {
				if _, foreign := docsForeignFiles[name]; foreign {
					used[name] = true
				} else if !docsHas(files, name) && !strings.Contains(program, `"`+path.Base(name)+`"`) {
					t.Errorf("%s: %s: neither in the repository nor written by the program nor in docsForeignFiles",
						p.name, name)
				}
			}
		}
	}
	for name := range docsForeignFlags {
		if !used["--"+name] {
			t.Errorf("docsForeignFlags: --%s: no page names it, want it taken out", name)
		}
	}
	for name := range docsForeignFiles {
		if !used[name] {
			t.Errorf("docsForeignFiles: %s: no page names it, want it taken out", name)
		}
	}
}

// docsCommandsPage lists every name that a flag takes, and every table and figure.
const docsCommandsPage = "docs/commands.md"

// TestDocsListNames looks for all of these names. -update writes those of the methods.
func TestDocsListNames(t *testing.T) {
	page := contents(t, "../../"+docsCommandsPage)
	head, rest, _ := strings.Cut(page, docsMethodFlag)
	_, tail, ok := strings.Cut(rest, docsAfterMethods)
	want := head + docsMethods(t) + docsAfterMethods + tail
	if *update && ok {
		page = want
		must.OK(t, os.WriteFile("../../"+docsCommandsPage, []byte(page), 0o666))
	}
	if page != want {
		t.Errorf("%s: the rows of --method, want those that -update writes:\n%s", docsCommandsPage, docsMethods(t))
	}
	for _, name := range slices.Concat(algos.Names(), availability.Names(), models.Names(), datasets.Names()) {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%s: %s is not there, want it listed", docsCommandsPage, name)
		}
	}
	for _, list := range []struct {
		what, name string // the pattern of a name behind its paper's
		want       []string
	}{
		{"tables", `\d+|mnist`, papers.TableNames()}, {"figures", `[ifs]\d[a-d]?`, papers.FigureNames()},
	} {
		if got, want := docsListed(page, list.name), slices.Sorted(slices.Values(list.want)); !slices.Equal(got, want) {
			t.Errorf("%s lists the %s\n%q, want\n%q", docsCommandsPage, list.what, got, want)
		}
	}
}

// The beginning of the rows of docs/commands.md with the methods, and of the row behind them.
const (
	docsMethodFlag   = "| `--method` |"
	docsAfterMethods = "| `--availability` |"
)

// docsMethods returns the rows of the methods: by the first paper with a table that has them, and last those that no
// table has.
func docsMethods(t *testing.T) string {
	t.Helper()
	_, byPaper := results.Grouped(algos.Names(), func(method string) string {
		for _, id := range papers.TableNames() {
			if table, err := papers.TableByID(id); err != nil {
				t.Fatal(err)
			} else if slices.Contains(table.Methods, method) {
				paper, _, _ := strings.Cut(id, "-")
				return paper
			}
		}
		return ""
	})
	var rows strings.Builder
	row := docsMethodFlag
	for _, paper := range []struct{ id, of string }{
		{"fedawe", " FedAWE's comparison |"},
		{"cafed", " CA-Fed's comparison |"},
		{"fedar", " FedAR's comparison |"},
		{"", " |"},
	} {
		row += paper.of
		between := " "
		for _, name := range byPaper[paper.id] {
			if len(row+between+name) > 116 { // of 120 columns
				rows.WriteString(row + " |\n")
				row, between = "| | |", " "
			}
			row += between + "`" + name + "`"
			between = ", "
		}
		rows.WriteString(row + " |\n")
		row = "| |"
	}
	return rows.String()
}

// docsListed returns the names of a list such as `fedar-f1` … `-f3`, `-f5`, sorted: the paper stands with the first.
func docsListed(page, pattern string) []string {
	listed := map[string]bool{}
	paper, before := "", ""
	name := regexp.MustCompile("(… )?`((?:fedawe|cafed|fedar)?)-(" + pattern + ")`")
	for _, m := range name.FindAllStringSubmatch(page, -1) {
		if m[2] != "" {
			paper = m[2]
		}
		if m[1] == "" {
			before = m[3]
		}
		for last := len(m[3]) - 1; before[last] <= m[3][last]; before = before[:last] + string(before[last]+1) {
			listed[paper+"-"+before] = true
			if m[1] == "" {
				break
			}
		}
	}
	return slices.Sorted(maps.Keys(listed))
}

// docsHas says whether the repository has a file or a folder: by its path, by a path from the folder of a package, or
// by its name alone.
func docsHas(files []string, name string) bool {
	name = strings.TrimSuffix(path.Clean(name), "/")
	return slices.ContainsFunc(files, func(f string) bool {
		return f == name || strings.HasSuffix(f, "/"+name) || strings.HasPrefix(f, name+"/")
	})
}

// docsRepository returns the paths of the repository's files, and the texts of the program and of the tests. It leaves
// out files that builds and runs write.
func docsRepository(t *testing.T) (paths []string, program, tests string) {
	t.Helper()
	var product, test strings.Builder
	must.OK(t, filepath.WalkDir("../..", func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(filepath.ToSlash(file), "../../")
		switch {
		case d.IsDir() && slices.Contains([]string{".git", "bin", "out", "results/history"}, name):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		case strings.HasSuffix(name, "_test.go"):
			test.WriteString(contents(t, file))
		case filepath.Ext(name) == ".go":
			product.WriteString(contents(t, file))
		}
		paths = append(paths, name)
		return nil
	}))
	return paths, product.String(), test.String()
}
