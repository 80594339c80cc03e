package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"rollcall/bench/many"
	"rollcall/bench/settings"
	"rollcall/internal/files"
	"rollcall/results"
)

// experiment is the file of `rollcall sweep FILE.yaml`. Its keys are the names of flags, so that it becomes a command
// line before anything else is read: what a flag can do, a file can.
type experiment struct {
	path  string
	text  []byte
	keys  []experimentKey
	cells []experimentCell
	lines map[string]int // of every key, "gamma", and of those of cells, "short: gamma"
}

// experimentKey is a key of a file with its values. Relative paths among them are below the folder of the file.
type experimentKey struct {
	name   string
	values []string
	list   bool // written as a list, so that a comma is a part of a value
	line   int
}

type experimentCell struct {
	name string
	keys []experimentKey
}

// experimentOf is the key of the context of a command that has the [experiment] of its command line.
type experimentOf struct{}

// The bounds of the file of an experiment: bytes, and values once every alias is replaced by what it stands for.
const (
	mostExperiment       = 1 << 20
	mostExperimentValues = 20_000
)

// experimentSuffixes end the names of the files of experiments.
var experimentSuffixes = []string{".yaml", ".yml"}

// experimentFlags are the keys of an experiment that are no settings of a run. The other flags of sweep say where and
// how it is trained, which belongs on the command line.
var experimentFlags = []string{
	"methods", "data", "nets", "availability", "seeds", "like", "rates", "name", "metric", "crossed",
}

// cellsKey is the key of the named cells, which the command line has as --cell.
const cellsKey = "cells"

// experimentName matches the names that flags may have.
var experimentName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// expandExperiment returns the command line of `rollcall sweep FILE.yaml` with the flags of the file in place of its
// name. A flag that the command line has too takes the place of the file's, in its cells as well. The experiment is nil
// if the command line names no file.
func expandExperiment(root *cobra.Command, args []string) ([]string, *experiment, error) {
	if len(args) == 0 || args[0] != "sweep" || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return args, nil, nil
	}
	cmd, _, err := root.Find(args[:1])
	if err != nil {
		return args, nil, nil
	}
	fs := cmd.Flags()
	rest, path, given := []string{args[0]}, "", map[string]bool{}
	for i := 1; i < len(args); i++ {
		name, is := strings.CutPrefix(args[i], "--")
		name, _, assigned := strings.Cut(name, "=")
		switch {
		case is:
			f := fs.Lookup(name)
			given[string(fs.GetNormalizeFunc()(fs, name))] = true
			rest = append(rest, args[i])
			if f != nil && f.NoOptDefVal == "" && !assigned && i+1 < len(args) {
				i++
				rest = append(rest, args[i])
			}
		case !isExperiment(args[i]):
			rest = append(rest, args[i])
		case path != "":
			return nil, nil, settings.Usagef("sweep: %s after %s, want one file", args[i], path)
		default:
			path = args[i]
		}
	}
	if path == "" {
		return args, nil, nil
	}
	x, err := readExperiment(path, fs)
	if err != nil {
		return nil, nil, err
	}
	return slices.Insert(rest, 1, x.flags(fs, given)...), x, nil
}

// isExperiment reports whether the name of a file is that of an experiment.
func isExperiment(path string) bool {
	return slices.Contains(experimentSuffixes, strings.ToLower(filepath.Ext(path)))
}

// flags returns the command line that the file stands for, but for the flags that are given.
func (x *experiment) flags(fs *pflag.FlagSet, given map[string]bool) (args []string) {
	for _, k := range x.keys {
		if given[k.name] {
			continue
		}
		values := k.elements(fs)
		if f := fs.Lookup(k.name); f == nil || settings.IsSetting(f) && !settings.TakesCommas(f) {
			values = []string{strings.Join(values, ",")} // nil: the parameter of a method in a file
		}
		for _, value := range values {
			args = append(args, "--"+k.name+"="+value)
		}
	}
	if given["cell"] {
		return args
	}
	for _, c := range x.cells {
		var pairs [][2]string
		for _, k := range c.keys {
			for _, value := range k.elements(fs) {
				if !given[k.name] {
					pairs = append(pairs, [2]string{k.name, value})
				}
			}
		}
		args = append(args, "--cell="+many.JoinNamed(c.name, pairs))
	}
	return args
}

// elements returns the values as a list of the command line has them: those of a list in quotes if they have a comma,
// but for nets, and for settings that have a flag for each of their values.
func (k *experimentKey) elements(fs *pflag.FlagSet) []string {
	f := fs.Lookup(k.name)
	if !k.list || k.name == "nets" || f != nil && settings.TakesCommas(f) {
		return k.values
	}
	var quoted []string
	for _, value := range k.values {
		quoted = append(quoted, settings.JoinList([]string{value}))
	}
	return quoted
}

// readExperiment reads a file. Whether a key is a flag of sweep, and its value one of that flag, the command says: see
// [experiment.at].
func readExperiment(path string, fs *pflag.FlagSet) (*experiment, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, settings.Usagef("sweep: %w", err)
	case !info.Mode().IsRegular():
		return nil, settings.Usagef("sweep: %s: no file, want one with an experiment (rollcall init writes one)", path)
	}
	text, err := files.ReadTextUpTo(path, mostExperiment)
	if err != nil {
		return nil, settings.Usagef("sweep: %w", err)
	}
	x := &experiment{path: path, text: text, lines: map[string]int{}}
	return x, x.parse(fs)
}

// wrong returns an error of a line of the file; 0: of the whole.
func (x *experiment) wrong(line int, format string, args ...any) error {
	at := x.path
	if line > 0 {
		at = fmt.Sprintf("%s:%d", x.path, line)
	}
	return settings.Usagef("%s: %w", at, fmt.Errorf(format, args...))
}

// yamlLine finds the line in an error of the YAML library, which has its own words before and after it.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:while [^:]*: )?(?:.*?\bline (\d+)(?:, column \d+)?:? ?)?(.*)$`)

// yamlAnchor finds the name in the error about an alias that stands for nothing.
var yamlAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)

func (x *experiment) parse(fs *pflag.FlagSet) error {
	for i, line := range bytes.Split(x.text, []byte("\n")) {
		if !utf8.Valid(line) || bytes.ContainsRune(line, 0) {
			return x.wrong(i+1, "no text in UTF-8, want YAML")
		}
		if indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]; bytes.Contains(indent, []byte("\t")) &&
			len(bytes.TrimSpace(line)) > 0 {
			return x.wrong(i+1, "a tab before the text, want spaces, as YAML has it")
		}
	}
	in := yaml.NewDecoder(bytes.NewReader(x.text))
	var doc, second yaml.Node
	err := in.Decode(&doc)
	if err == nil {
		if err = in.Decode(&second); err == nil {
			return x.wrong(second.Line, "a second document, want one")
		}
		doc = *doc.Content[0]
	}
	if !errors.Is(err, io.EOF) {
		line, what := 0, files.OneLine(err.Error())
		if m := yamlLine.FindStringSubmatch(what); m != nil {
			_, _ = fmt.Sscan(m[1], &line) // without one it stays 0
			what = m[2]
		}
		if m := yamlAnchor.FindStringSubmatch(what); m != nil { // the library does not say where
			before, _, _ := bytes.Cut(x.text, []byte("*"+m[1]))
			line = bytes.Count(before, []byte("\n")) + 1
		}
		return x.wrong(line, "no YAML: %s", what)
	}
	left := mostExperimentValues
	if doc.Kind == 0 || isNull(&doc) {
		return x.wrong(0, "empty, want keys such as methods: [fedavg-active, fedawe]")
	}
	return x.mapping(&doc, "", fs, &left, func(key string, line int, value *yaml.Node) error {
		if key == cellsKey || key == "cell" {
			return x.readCells(line, value, fs, &left)
		}
		k, err := x.key(key, line, value, &left)
		x.keys = append(x.keys, k)
		return err
	})
}

// mapping calls each for every key of a mapping, which stands below the name of a cell or, without one, at the top.
func (x *experiment) mapping(
	n *yaml.Node, cell string, fs *pflag.FlagSet, left *int, each func(key string, line int, value *yaml.Node) error,
) error {
	n, err := x.resolve(n, left)
	if err != nil {
		return err
	}
	if n.Kind != yaml.MappingNode {
		return x.wrong(n.Line, "%s, want keys with values, such as rounds: 20", kindOf(n))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		name := key.Value
		switch {
		case name == "<<":
			return x.wrong(key.Line, "<<: a merge key, want the settings written out: cells have those at the top too")
		case key.Kind != yaml.ScalarNode || !experimentName.MatchString(name):
			return x.wrong(key.Line, "%q: no key, want the name of a flag of sweep", name)
		}
		name = string(fs.GetNormalizeFunc()(fs, name))
		at := strings.TrimPrefix(cell+": "+name, ": ")
		if before := x.lines[at]; before > 0 {
			return x.wrong(key.Line, "%s: twice, first in line %d", key.Value, before)
		}
		if f := fs.Lookup(name); f != nil && !settings.IsSetting(f) && !slices.Contains(experimentFlags, name) &&
			name != "cell" {
			return x.wrong(key.Line, "%s: says where or how to train, want it on the command line: --%s", name, name)
		}
		x.lines[at] = key.Line
		if err := each(name, key.Line, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// readCells reads the list of named cells.
func (x *experiment) readCells(line int, value *yaml.Node, fs *pflag.FlagSet, left *int) error {
	value, err := x.resolve(value, left)
	if err != nil {
		return err
	}
	if value.Kind != yaml.SequenceNode || len(value.Content) == 0 {
		return x.wrong(line, "%s: %s, want a list of cells, each with a name", cellsKey, kindOf(value))
	}
	for i, n := range value.Content {
		if n, err = x.resolve(n, left); err != nil {
			return err
		}
		name := ""
		for j := 0; n.Kind == yaml.MappingNode && j+1 < len(n.Content); j += 2 {
			if n.Content[j].Value == "name" && n.Content[j+1].Kind == yaml.ScalarNode {
				name = n.Content[j+1].Value
			}
		}
		if name == "" || strings.ContainsAny(name, ":;=,\r\n") {
			return x.wrong(n.Line, "cell %d: %q, want a name: a letter or a digit, then those, spaces and . _ + ( ) -",
				i+1, name)
		}
		if before := x.lines[name+":"]; before > 0 {
			return x.wrong(n.Line, "cell %s: twice, first in line %d", name, before)
		}
		x.lines[name+":"] = n.Line
		cell := experimentCell{name: name}
		err := x.mapping(n, name, fs, left, func(key string, line int, value *yaml.Node) error {
			if key == "name" {
				return nil
			}
			if slices.Contains(experimentFlags, key) && !slices.Contains(experimentFlags[:4], key) && key != "like" {
				return x.wrong(line, "%s: not in a cell, want it at the top", key)
			}
			k, err := x.key(key, line, value, left)
			if i := slices.IndexFunc(k.values, func(v string) bool { return strings.Contains(v, ";") }); i >= 0 {
				return x.wrong(line, "%s: %q: a semicolon, want none in a cell", key, k.values[i])
			}
			cell.keys = append(cell.keys, k)
			return err
		})
		if err != nil {
			return err
		}
		x.cells = append(x.cells, cell)
	}
	return nil
}

// key reads the value of a key, or its list of values.
func (x *experiment) key(name string, line int, value *yaml.Node, left *int) (experimentKey, error) {
	k := experimentKey{name: name, line: line}
	value, err := x.resolve(value, left)
	if err != nil {
		return k, err
	}
	nodes := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		nodes, k.list = value.Content, true
	}
	for _, n := range nodes {
		if n, err = x.resolve(n, left); err != nil {
			return k, err
		}
		if n.Kind != yaml.ScalarNode || isNull(n) || n.Style&yaml.TaggedStyle != 0 ||
			strings.ContainsAny(n.Value, "\r\n\x00") {
			return k, x.wrong(max(n.Line, line), "%s: %s, want a value or a list of values", name, kindOf(n))
		}
		k.values = append(k.values, x.below(name, n.Value))
	}
	if len(k.values) == 0 {
		return k, x.wrong(line, "%s: an empty list, want a value or a list of values", name)
	}
	if one := []string{"like", "name", "crossed"}; len(k.values) > 1 && slices.Contains(one, name) {
		return k, x.wrong(line, "%s: %d values, want one", name, len(k.values))
	}
	return k, nil
}

// resolve returns what an alias stands for, and counts the values: a few lines of aliases may stand for billions.
func (x *experiment) resolve(n *yaml.Node, left *int) (*yaml.Node, error) {
	if *left--; *left < 0 {
		return n, x.wrong(n.Line, "more than %d values, want fewer", mostExperimentValues)
	}
	if n.Kind == yaml.AliasNode {
		return x.resolve(n.Alias, left)
	}
	return n, nil
}

// isNull reports whether a key has nothing behind it, or null.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// kindOf says what a node is, where something else is wanted.
func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "keys with values"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	case n.Style&yaml.TaggedStyle != 0:
		return "a tag " + n.Tag
	}
	return fmt.Sprintf("%.60q", n.Value)
}

// below returns a value of a key with the folder of the file before a relative path.
func (x *experiment) below(key, value string) string {
	dir := filepath.Dir(x.path)
	inDir := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	kind, path, prefixed := strings.Cut(value, ":")
	switch {
	case results.FileSettings[key] != "", key == "methods" && strings.HasSuffix(value, scriptSuffix),
		key == "rates" && many.IsRatesFile(value):
		return inDir(value)
	case (key == "data" || key == "split") && prefixed: // npz:FILE, file:FILE
		return kind + ":" + inDir(path)
	case key == "nets":
		if info, err := os.Stat(inDir(value)); err == nil && info.Mode().IsRegular() {
			return inDir(value)
		}
	}
	return value
}

// errorFlag finds the flag that an error is about, and errorCell the cell.
var (
	errorFlag = regexp.MustCompile(`--([a-z][a-z0-9-]*)`)
	errorCell = regexp.MustCompile(`^cell ([^:]*): `)
)

// at returns an error of the command line with the line of the file that has its flag, if it is the file's.
func (x *experiment) at(err error) error {
	text := strings.TrimPrefix(err.Error(), "sweep: ")
	flag := errorFlag.FindStringSubmatch(text)
	if x == nil || strings.HasPrefix(text, x.path) {
		return err
	}
	line := 0
	if cell := errorCell.FindStringSubmatch(text); cell != nil {
		line = x.lines[cell[1]+":"]
		if flag != nil && x.lines[cell[1]+": "+flag[1]] > 0 {
			line = x.lines[cell[1]+": "+flag[1]]
		}
	}
	if flag != nil && line == 0 {
		line = x.lines[flag[1]]
		if flag[1] == "cell" {
			line = x.lines[cellsKey]
		}
	}
	for _, k := range x.keys { // an error about a file has its path alone
		if flag == nil && line == 0 && slices.ContainsFunc(k.values, func(value string) bool {
			return strings.HasSuffix(value, scriptSuffix) && strings.Contains(text, value)
		}) {
			line = k.line
		}
	}
	switch {
	case line == 0:
		return err
	case !settings.IsUsage(err): // such as a file that is not there, which may come back
		return fmt.Errorf("%s:%d: %w", x.path, line, err)
	}
	return x.wrong(line, "%s", text)
}
