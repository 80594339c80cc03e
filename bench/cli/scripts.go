package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rollcall/algos"
	"rollcall/algos/remote"
	"rollcall/bench/python"
	"rollcall/bench/settings"
)

// methodFlags are the flags whose values are names of methods, or files that hold one.
var methodFlags = []string{"method", "methods", "also"}

// scriptSuffix ends the names of files with a method.
const scriptSuffix = ".py"

// addScripts registers the methods of the files that a command line names where a method's name stands, and returns the
// command line with their names in place of the files. The flags of a method must be known before the command line is
// read, so that it is looked through here first.
func addScripts(
	ctx context.Context, root *cobra.Command, args []string, stderr io.Writer,
) ([]string, error) {
	args = slices.Clone(args)
	args = addChecked(ctx, root, args)
	for i, arg := range args {
		flag, value, whole := strings.Cut(arg, "=")
		if !slices.Contains(methodFlags, strings.TrimPrefix(flag, "--")) || !strings.HasPrefix(flag, "--") {
			continue
		}
		at := i
		if !whole {
			if at = i + 1; at == len(args) {
				break
			}
			flag, value = "", args[at]
		} else {
			flag += "="
		}
		names := strings.Split(value, ",")
		for k, name := range names {
			if name = strings.TrimSpace(name); !strings.HasSuffix(name, scriptSuffix) {
				continue
			}
			own, err := addScript(ctx, root, name, stderr)
			if err != nil && args[0] != cobra.ShellCompRequestCmd { // an unfinished command line is no error
				return nil, err
			}
			names[k] = own
		}
		args[at] = flag + strings.Join(names, ",")
	}
	return args, nil
}

// addChecked registers the method of the file that `rollcall method check` names, and returns the command line. The
// file stays in it: the check asks the file again, and says what is wrong with it. If anything is, nobody knows the
// flags of its parameters, so that the command line that is returned has the file alone.
func addChecked(ctx context.Context, root *cobra.Command, args []string) []string {
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
	if _, err := addScript(ctx, root, words[i], io.Discard); err == nil || complete || settings.IsUsage(err) {
		return args
	}
	return append(check, words[i])
}

// addScript registers the method of a file and returns its name.
func addScript(ctx context.Context, root *cobra.Command, path string, stderr io.Writer) (string, error) {
	// A file that is named twice is one method.
	if abs, err := filepath.Abs(path); err == nil {
		names := algos.Names()
		if i := slices.IndexFunc(names, func(n string) bool { return algos.Of(n).Program == abs }); i >= 0 {
			return names[i], nil
		}
	}
	host, script, err := describe(ctx, path, stderr)
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

// describe asks the file of a method what it is.
func describe(ctx context.Context, path string, stderr io.Writer) (*remote.Host, *remote.Script, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, nil, settings.Usagef("%w: want a file with a method", cmp.Or(err, fmt.Errorf("%s: no file", path)))
	}
	command, env, err := python.Command()
	if err != nil {
		return nil, nil, err
	}
	host := &remote.Host{Command: command, Env: env}
	script, err := host.Describe(ctx, path, stderr)
	if _, thrown := errors.AsType[*remote.ScriptError](err); err != nil && !thrown { // an exception names the file
		err = fmt.Errorf("%s: %w", path, err)
	}
	return host, script, err
}

// scriptPaths returns a list of methods with the files of those that have one, for a command line of another process.
func scriptPaths(list string) string {
	names := strings.Split(list, ",")
	for i, name := range names {
		if path := algos.Of(name).Program; path != "" {
			names[i] = filepath.Clean(path)
		}
	}
	return strings.Join(names, ",")
}
