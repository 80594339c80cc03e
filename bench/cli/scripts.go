package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/algos/remote"
	"rollcall/bench/many"
	"rollcall/bench/python"
	"rollcall/bench/settings"
)

// methodFlags are the flags whose values are names of methods, or files that hold one.
var methodFlags = []string{"method", "methods", "also"}

// scriptSuffix ends the names of files with a method.
const scriptSuffix = ".py"

// mostScript is how long the file of a method may be, in bytes: Python reads it whole. The package rollcall_fl has the
// same limit for the files that it imports.
const mostScript = 16 << 20

// readTime is how long the file of a method may take to be read, unless --method-timeout says otherwise.
const readTime = 2 * time.Minute

// addScripts registers the methods of the files that a command line names where a method's name stands, and returns the
// command line with their names in place of the files. The flags of a method must be known before the command line is
// read, so that it is looked through here first.
func addScripts(
	ctx context.Context, root *cobra.Command, args []string, stderr io.Writer,
) ([]string, error) {
	args = slices.Clone(args)
	timeout := readTime
	for at, before := range valuesOf(args, "method-timeout") {
		given, err := time.ParseDuration(args[at][len(before):])
		if err == nil && given >= 0 { // others are refused later
			timeout = given
		}
	}
	args = addChecked(ctx, root, args, timeout)
	own := func(flag, name string) (string, error) {
		own, err := ownName(ctx, root, flag, strings.TrimSpace(name), timeout, stderr)
		if err != nil && args[0] == cobra.ShellCompRequestCmd { // an unfinished command line is no error
			err = nil
		}
		return own, err
	}
	return replaced(args, methodFlags, func(flag, value string) (string, error) {
		split, join := settings.SplitList, settings.JoinList
		if flag == "method" && args[0] != "sweep" && args[0] != "tune" { // one, whose path may have a comma
			split = func(text string) []string { return []string{text} }
			join = func(names []string) string { return names[0] }
		}
		names := split(value)
		for k, name := range names {
			var err error
			if names[k], err = own(flag, name); err != nil {
				return "", err
			}
		}
		return join(names), nil
	})
}

// replaced returns a command line with other values of some flags, and of the settings of these names in its cells.
func replaced(args, flags []string, by func(flag, value string) (string, error)) ([]string, error) {
	args = slices.Clone(args)
	for _, flag := range flags {
		for at, before := range valuesOf(args, flag) {
			value, err := by(flag, args[at][len(before):])
			if err != nil {
				return nil, err
			}
			args[at] = before + value
		}
	}
	for at, before := range valuesOf(args, "cell") {
		name, pairs, err := many.SplitNamed(args[at][len(before):])
		if err != nil {
			continue // the command says what is wrong
		}
		for i, pair := range pairs {
			if !slices.Contains(flags, pair[0]) {
				continue
			}
			if pairs[i][1], err = by(pair[0], pair[1]); err != nil {
				return nil, settings.Usagef("cell %s: %w", name, err)
			}
		}
		args[at] = before + many.JoinNamed(name, pairs)
	}
	return args, nil
}

// valuesOf yields the index of each argument that has a value of a flag, and what stands before the value there:
// "--method=", or nothing. What follows -- is for another program.
func valuesOf(args []string, flag string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i, arg := range args {
			if arg == "--" {
				return
			}
			at, before := i, "--"+flag+"="
			if arg == "--"+flag && i+1 < len(args) {
				at, before = i+1, ""
			} else if !strings.HasPrefix(arg, before) {
				continue
			}
			if !yield(at, before) {
				return
			}
		}
	}
}

// ownName returns the name of a method, which it registers if the value of a flag is a file.
func ownName(
	ctx context.Context, root *cobra.Command, flag, value string, timeout time.Duration, stderr io.Writer,
) (string, error) {
	if strings.HasSuffix(value, scriptSuffix) {
		return addScript(ctx, root, value, timeout, stderr)
	}
	if algos.Of(value).Name != "" {
		return value, nil
	}
	info, err := os.Stat(value)
	if err == nil && info.Mode().IsRegular() || filepath.Base(value) != value && value != "" ||
		strings.EqualFold(filepath.Ext(value), scriptSuffix) {
		return value, settings.Usagef("--%s %q: no method, want the name of one or a file whose name ends in %s", flag,
			value, scriptSuffix)
	}
	return value, nil // an unknown name is an error of the flag
}

// addChecked registers the method of the file that `rollcall method check` names, and returns the command line. The
// file stays in it: the check asks the file again, and says what is wrong with it. If anything is, nobody knows the
// flags of its parameters, so that the command line that is returned has the file and the timeout alone.
func addChecked(ctx context.Context, root *cobra.Command, args []string, timeout time.Duration) []string {
	check := []string{"method", "check"}
	complete := len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd)
	words := args
	if complete {
		words = args[1:]
	}
	if len(words) < len(check) || !slices.Equal(words[:len(check)], check) {
		return args
	}
	i := slices.IndexFunc(words, func(w string) bool {
		return strings.HasSuffix(w, scriptSuffix) && !strings.HasPrefix(w, "-")
	})
	if i < 0 || slices.Contains(words, "--help") || slices.Contains(words, "-h") {
		return args
	}
	if _, err := addScript(ctx, root, words[i], timeout, io.Discard); err == nil || complete || settings.IsUsage(err) {
		return args
	}
	return append(check, words[i], "--method-timeout="+timeout.String())
}

// addScript registers the method of a file and returns its name.
func addScript(
	ctx context.Context, root *cobra.Command, path string, timeout time.Duration, stderr io.Writer,
) (string, error) {
	// A file that is named twice is one method.
	if abs, err := filepath.Abs(path); err == nil {
		names := algos.Names()
		if i := slices.IndexFunc(names, func(n string) bool { return algos.Of(n).Program == abs }); i >= 0 {
			return names[i], nil
		}
	}
	host, script, err := describe(ctx, path, timeout, stderr)
	if err != nil {
		return "", err
	}
	taken := map[string]string{}
	for _, command := range root.Commands() {
		command.Flags().VisitAll(func(f *pflag.Flag) { taken[f.Name] = command.Name() })
	}
	for _, p := range script.Params {
		if of := taken[p.Name]; of != "" {
			return "", fmt.Errorf("%s: --%s is a flag of rollcall %s already, want another name of the parameter or "+
				"of the method", path, p.Name, of)
		}
	}
	algos.Register(host.Definition(script))
	return script.Name, nil
}

// describe asks the file of a method what it is. timeout is how long it may take to be read; 0: there is no limit.
func describe(
	ctx context.Context, path string, timeout time.Duration, stderr io.Writer,
) (*remote.Host, *remote.Script, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil || !info.Mode().IsRegular():
		return nil, nil, settings.Usagef("%w: want a file with a method", cmp.Or(err, fmt.Errorf("%s: no file", path)))
	case !strings.HasSuffix(path, scriptSuffix):
		return nil, nil, settings.Usagef("%s: want a file whose name ends in %s", path, scriptSuffix)
	case info.Size() > mostScript:
		return nil, nil, settings.Usagef("%s: %d bytes, want a file with a method, of at most %d", path, info.Size(),
			mostScript)
	}
	command, env, err := python.Command()
	if err != nil {
		return nil, nil, err
	}
	host := &remote.Host{Command: command, Env: env}
	script, err := host.Describe(ctx, path, stderr, timeout)
	if named := os.Getenv(python.Variable); named != "" && errors.Is(err, remote.ErrSilent) {
		err = fmt.Errorf("%w ($%s is %s, want a Python with NumPy)", err, python.Variable, named)
	}
	if _, thrown := errors.AsType[*remote.ScriptError](err); err != nil && !thrown { // an exception names the file
		err = fmt.Errorf("%s: %w", path, err)
	}
	return host, script, err
}

// asGiven returns a value of a flag, or of a setting of a cell, for a command line of another process, which has none
// of what this one has registered: files and layers in place of the names of methods, data sets and nets.
func asGiven(flag, value string) string {
	switch {
	case slices.Contains(methodFlags, flag):
		return scriptPaths(value)
	case flag == "data":
		return dataFiles(value)
	case flag == "net", flag == "nets":
		return netTexts(value)
	}
	return value
}

// scriptPaths returns a list of methods with the files of those that have one.
func scriptPaths(list string) string {
	names := settings.SplitList(list)
	for i, name := range names {
		if path := algos.Of(name).Program; path != "" {
			names[i] = filepath.Clean(path)
		}
	}
	return settings.JoinList(names)
}

// cellPaths does the same for a --cell, and for its data, nets and other files.
func cellPaths(text string) string {
	name, pairs, err := many.SplitNamed(text)
	if err != nil {
		return text
	}
	var all [][2]string
	for _, pair := range pairs {
		values := []string{pair[1]}
		switch key := pair[0]; key {
		case "net", "nets": // a net each: the ; between texts would end the setting
			values = strings.Split(asGiven(key, pair[1]), netEnd)
		case "split":
			values = settings.SplitList(pair[1])
			for i, value := range values {
				values[i] = absolute(key, value)
			}
			values = []string{settings.JoinList(values)}
		default:
			values[0] = absolute(key, asGiven(key, pair[1]))
		}
		for _, value := range values {
			all = append(all, [2]string{pair[0], value})
		}
	}
	return many.JoinNamed(name, all)
}
