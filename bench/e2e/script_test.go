package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"flag"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io/fs"
	"log"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"rollcall/bench/cli"
	"rollcall/bench/nightly"
	"rollcall/bench/run"
	"rollcall/bench/run/progress"
	"rollcall/internal/lock"
	"rollcall/nets/cpu/kernels"
)

var update = flag.Bool("update", false, "rewrite what the scripts hold, and the names in docs/commands.md")

// Every script of testdata/script types commands, as into a shell, and holds what they write: status, streams and
// files, byte by byte. A refactoring has to leave the output of every command alone, and nothing but the bytes can say
// whether it did. A script starts in a folder with the data of writeTinyData, shut off from the rest of the machine.
//
// `git diff` shows exactly what changes for them. Speeds (bench, track run) are in no script.
func TestScript(t *testing.T) {
	if testing.Short() {
		t.Skip("the scripts run every command, which takes too long for -short")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, ContinueOnError: true, RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			writeTinyData(env.T().(testing.TB), env.WorkDir)
			env.Vars = append(
				env.Vars,
				"ROLLCALL_DATA=nodata", "XDG_CACHE_HOME="+filepath.Join(env.WorkDir, ".cache"), "TZ=UTC", "NO_COLOR=1",
				"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1", "GOGC=400",
				inScript+"=1",
				"ROLLCALL_CPU=generic", // kernels that every machine has
			)
			return nil
		},
		// [gpu]: the program has the CUDA engine. [avx2]: this processor has the kernels of that name.
		Condition: func(name string) (bool, error) {
			if name == "gpu" {
				return hasCUDA, nil
			}
			return slices.ContainsFunc(kernels.Variants(), func(k kernels.Kernels[float32]) bool {
				return k.Name() == name
			}), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"edit": editFile},
	})
}

// hasCUDA says that the tests are built with the tag gpu.
var hasCUDA bool

// Every command explains itself, on stdout.
func TestHelp(t *testing.T) {
	docsWalk(cli.Root(), func(c *cobra.Command) {
		o := pass(t, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		if !strings.Contains(o.stdout, "Usage:\n  rollcall") || !strings.Contains(o.stdout, "--help") ||
			strings.Contains(o.stdout, "(default )") || o.stderr != "" {
			t.Errorf("%s: stdout %q, stderr %q, want usage and --help on stdout, and no default that says nothing",
				c.CommandPath(), o.stdout, o.stderr)
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") && c.Parent() != nil && c.Parent().Name() == "rollcall" {
			t.Errorf("%s: short text %q", c.CommandPath(), c.Short)
		}
	})
	if bare := pass(t); !strings.Contains(bare.stdout, "Available Commands:") {
		t.Errorf("without arguments: %q, want the commands", bare.stdout)
	}
}

// editFile is the command `edit` of scripts: edit FILE PATTERN TEXT replaces the first match of a regular expression in
// the one file that FILE, a glob, finds.
func editFile(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("edit %s: %q, want one file", args[0], found)
	}
	text := ts.ReadFile(found[0])
	match := regexp.MustCompile(args[1]).FindStringIndex(text)
	if match == nil {
		ts.Fatalf("edit %s: no match of %q", found[0], args[1])
	}
	ts.Check(os.WriteFile(found[0], []byte(text[:match[0]]+args[2]+text[match[1]:]), 0o666))
}

// scriptPrograms are what scripts can exec. In all three, a variable of a script may hold several words.
var scriptPrograms = map[string]func(){
	"rollcall": func() {
		cli.CollectEvery = 300 * time.Millisecond // a cluster of a test's own can be asked often
		stdout, stderr := planted(os.Stdout, os.Stderr)
		args := os.Args[1:]
		if os.Getenv(tinyNights) != "" {
			nightly.StandardSuite = tinySuite
		}
		if os.Getenv(inScript) != "" {
			args = words(args)
		} else {
			progress.LogEvery = 0 // tests wait for evaluations
		}
		if os.Getenv(docsSmallRuns) != "" {
			if args = docsSmall(args); args == nil {
				return
			}
		}
		os.Exit(cli.Main(args, stdout, stderr))
	},
	"record":  record,
	"failing": failing,
}

// inScript is the variable by which the program knows that a script runs it.
const inScript = "ROLLCALL_TEST_IN_SCRIPT"

// words splits arguments at spaces if they begin with a flag, or with the command.
func words(args []string) (words []string) {
	for i, arg := range args {
		if i == 0 || strings.HasPrefix(arg, "--") {
			words = append(words, strings.Fields(arg)...)
		} else {
			words = append(words, arg) // perhaps empty, or the layers of a net
		}
	}
	return words
}

// record [-whole] rollcall ARGS runs the program and prints, as one normalised text, stdout, a status that is not 0,
// stderr, and every file that is new, changed or removed: whole if it is a short text, else its length and SHA-256.
// The files of runs, of which there are hundreds, are whole with -whole alone.
func record() {
	args := os.Args[1:]
	whole := args[0] == "-whole"
	if whole {
		args = args[1:]
	}
	args = words(args[1:])
	before := filesHere()
	var stdout, stderr bytes.Buffer
	status := cli.Main(args, &stdout, &stderr)
	after := filesHere()

	fmt.Printf("%s", normal("stdout", stdout.Bytes()))
	if status != 0 {
		fmt.Printf("--- status %d\n", status)
	}
	said := string(normal("stderr", stderr.Bytes()))
	if slices.Contains(args, "--pack") { // runs side by side report in any order
		said = strings.Join(slices.Sorted(strings.Lines(said)), "")
	}
	if said != "" {
		fmt.Printf("--- stderr\n%s", said)
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		old, then := before[name]
		content, now := after[name]
		if then && now && bytes.Equal(old, content) { // most files; normalising them all takes a while
			continue
		}
		old, content = normal(name, old), normal(name, content)
		switch {
		case !now:
			fmt.Printf("--- removed %s\n", name)
		case !then:
			printFile("new", name, content, whole)
		case !bytes.Equal(old, content):
			printFile("changed", name, content, whole)
		}
	}
}

func printFile(how, name string, content []byte, whole bool) {
	const most = 4 << 10 // bytes
	ofRun := strings.HasPrefix(path.Base(path.Dir(name)), "seed-")
	if len(content) > most || !bytes.HasSuffix(content, []byte("\n")) || !utf8.Valid(content) || ofRun && !whole {
		fmt.Printf("--- %s %s: %d bytes, SHA-256 %.8x\n", how, name, len(content), sha256.Sum256(content))
		return
	}
	fmt.Printf("--- %s %s\n%s", how, name, content)
}

// failing STATUS FILE runs every line of a file that starts with `$ rollcall`, and prints it with its error. It fails
// unless each ends with that status, prints nothing on stdout, one error at the end of stderr, and writes no file.
func failing() {
	want, before := os.Args[1], filesHere()
	for line := range strings.Lines(string(before[os.Args[2]])) {
		args, ok := strings.CutPrefix(line, "$ rollcall ")
		if !ok {
			continue
		}
		var stdout, stderr bytes.Buffer
		status := cli.Main(strings.Fields(os.ExpandEnv(args)), &stdout, &stderr)
		said := string(normal("stderr", stderr.Bytes()))
		fmt.Print(line, said)
		_, complaint, _ := strings.Cut("\n"+said, "\nrollcall: ")
		if strconv.Itoa(status) != want || stdout.Len() > 0 || strings.Count(complaint, "\n") != 1 {
			log.Fatalf("%sstatus %d, stdout %q, stderr %q, want status %s and one error",
				line, status, &stdout, said, want)
		}
	}
	if after := filesHere(); len(after) != len(before) {
		log.Fatalf("files %q, want no others than %q",
			slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
}

// filesHere returns the content of all files below the working folder, but for what is no command's. An empty folder
// counts as a file with a slash behind its name.
func filesHere() map[string][]byte {
	all := map[string][]byte{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".cache" || name == ".tmp":
			return fs.SkipDir
		case d.IsDir():
			entries, err := os.ReadDir(name)
			if len(entries) == 0 {
				all[name+"/"] = nil
			}
			return err
		case d.Name() == lock.File: // which is always empty
			return nil
		}
		all[name], err = os.ReadFile(name)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	return all
}

// normal returns what a command wrote, to a file or to stdout or stderr, without what differs from run to run or from
// machine to machine.
func normal(name string, content []byte) []byte {
	switch {
	case strings.HasSuffix(name, ".png"):
		return pixels(content)
	case strings.Contains(filepath.Base(name), "tfevents"):
		return timelessEvents(content)
	case !utf8.Valid(content):
		return content
	}
	text := strings.NewReplacer(
		os.Getenv("XDG_CACHE_HOME"), "CACHE",
		os.Getenv("WORK"), "WORK",
		kernels.Model(), "DEVICE",
		runtime.Version(), "GOVERSION",
		runtime.GOOS+"/"+runtime.GOARCH, "OS/ARCH",
		"rollcall "+run.Version(), "rollcall VERSION",
		`"version": "`+run.Version()+`"`, `"version": "VERSION"`,
	).Replace(string(content))
	for _, p := range normalPatterns {
		text = p.find.ReplaceAllString(text, p.put)
	}
	if strings.HasSuffix(name, ".csv") || name == "stdout" {
		text = withoutColumns(text, "elapsed_s", "version")
	}
	return []byte(text)
}

var normalPatterns = []struct {
	find *regexp.Regexp
	put  string
}{
	// "started" and "finished" of run.json, and when a report was made.
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d UTC`), "TIME"},
	// Seconds at the end of a line of progress, and in the column of results show.
	{regexp.MustCompile(`(?m), \d+\.\d s$`), ", 0.0 s"},
	{regexp.MustCompile(` +\d+\.\d( +cpu-)`), " 0.0$1"},
	// How long a command took, and a line that it says in the tenth second of a slow machine.
	{regexp.MustCompile(`(?m)after (\d+ min ?)?(\d+ s)?$`), "after 0 s"},
	{regexp.MustCompile(`(?m)^.*: round \d+/\d+ · .* left\n`), ""},
	// The default of --threads is the number of cores, in help and in the flags of a machine with another number.
	{regexp.MustCompile(`(results do not depend on them \(default )\d+\)`), "${1}CORES)"},
	{regexp.MustCompile(`(--threads \d+: want 1 … )\d+`), "${1}MOST"},
	// What a run will hold is said where it is much for this machine, and grows with its cores.
	{regexp.MustCompile(`(?m)^memory: .*\n`), ""},
	// The checksum of run.json is of the names of the processor and of Go's release too, and a column is as wide as its
	// longest name.
	{regexp.MustCompile(`("run.json": "sha256:)[0-9a-f]+`), "${1}SUM"},
	{regexp.MustCompile(`(device|DEVICE)  +`), "$1  "},
	// Why nothing can be downloaded is said by the machine's network.
	{regexp.MustCompile(`: unavailable: [^\n"]*`), ": unavailable: NETWORK"},
}

// withoutColumns puts X into columns of a CSV; other texts stay.
func withoutColumns(text string, names ...string) string {
	header, _, _ := strings.Cut(text, "\n")
	if !slices.ContainsFunc(strings.Split(header, ","), func(name string) bool {
		return slices.Contains(names, name)
	}) {
		return text
	}
	reader := csv.NewReader(strings.NewReader(text))
	reader.FieldsPerRecord = -1 // damaged files too
	records, err := reader.ReadAll()
	if err != nil {
		return text
	}
	for i, name := range records[0] {
		if !slices.Contains(names, name) {
			continue
		}
		for _, record := range records[1:] {
			if i < len(record) {
				record[i] = "X"
			}
		}
	}
	var out strings.Builder
	if err := csv.NewWriter(&out).WriteAll(records); err != nil {
		return text
	}
	return out.String()
}

// pixels returns the size and the pixels of a PNG, whose compression is that of the Go version.
func pixels(content []byte) []byte {
	picture, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return content
	}
	plain := image.NewNRGBA(picture.Bounds())
	draw.Draw(plain, plain.Bounds(), picture, picture.Bounds().Min, draw.Src)
	return append(fmt.Appendf(nil, "%v\xff", picture.Bounds()), plain.Pix...)
}

// timelessEvents returns TensorBoard's events without their times. A record is a length, its checksum, an event and
// the event's checksum; an event begins with its time, a double, as field 1. One of a session ends with another time.
func timelessEvents(content []byte) []byte {
	out := []byte{0xff} // no text
	for rest := content; len(rest) >= 12; {
		size := binary.LittleEndian.Uint64(rest)
		if uint64(len(rest)) < 16+size || size < 9 || rest[12] != 0x09 {
			return append(out, rest...) // damaged
		}
		event := rest[12+9 : 12+size]
		if bytes.Contains(event, []byte("_hparams_/session_")) {
			event = event[:len(event)-8]
		}
		out = append(binary.LittleEndian.AppendUint64(out, size), event...)
		rest = rest[16+size:]
	}
	return out
}
