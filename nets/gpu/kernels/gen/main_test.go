package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// fakeClang makes CLANG a compiler of a release that prints the same text whatever it compiles.
func fakeClang(t *testing.T, release, text string) {
	t.Helper()
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'Debian clang version %s (3)'; "+
		"else cat <<'END'\n%s\nEND\nfi\n", release, text)
	path := filepath.Join(t.TempDir(), "clang")
	must.OK(t, os.WriteFile(path, []byte(script), 0o700))
	t.Setenv("CLANG", path)
}

// enter makes a folder with these files the working directory of the test.
func enter(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	must.OK(t, os.Mkdir(folder, 0o700))
	for name, text := range files {
		must.OK(t, os.WriteFile(name, []byte(text), 0o600))
	}
}

const made = "// a.cu, compiled by clang 19.1.7. Do not edit: make kernels.\nret;\n"

func TestGen(t *testing.T) {
	for name, c := range map[string]struct {
		files         map[string]string
		release, text string
		args          []string
		code          int
		says          string // on the error output
		after         map[string]string
	}{
		"new": {
			files: map[string]string{"a.cu": ""}, release: "19.1.7", text: "ret;",
			after: map[string]string{"ptx/a.ptx": made},
		},
		"stale": {
			files: map[string]string{"a.cu": "", "ptx/a.ptx": "old", "ptx/b.ptx": made}, release: "19.1.7",
			text: "ret;", after: map[string]string{"ptx/a.ptx": made, "ptx/b.ptx": ""},
		},
		"same": {
			files: map[string]string{"a.cu": "", "ptx/a.ptx": made}, release: "19.1.7", text: "ret;",
			args: []string{"-check"},
		},
		"differs": {
			files: map[string]string{"a.cu": "", "ptx/a.ptx": "old"}, release: "19.1.7", text: "ret;",
			args: []string{"-check"}, code: 1, says: "ptx/a.ptx: not what a.cu compiles to: make kernels",
			after: map[string]string{"ptx/a.ptx": "old"},
		},
		"missing": {
			files: map[string]string{"a.cu": ""}, release: "19.1.7", text: "ret;", args: []string{"-check"}, code: 1,
			says: "ptx/a.ptx: not what a.cu compiles to", after: map[string]string{"ptx/a.ptx": ""},
		},
		"no source": {
			files: map[string]string{"a.cu": "", "ptx/a.ptx": made, "ptx/b.ptx": made}, release: "19.1.7",
			text: "ret;", args: []string{"-check"}, code: 1, says: "ptx/b.ptx: without a source",
			after: map[string]string{"ptx/b.ptx": made},
		},
		"depot": {
			files: map[string]string{"a.cu": "", "ptx/a.ptx": "old"}, release: "19.1.7",
			text: ".local .align 4 .b8 __local_depot0[64];", code: 1, says: "a.cu: PTX line 2",
			after: map[string]string{"ptx/a.ptx": "old"},
		},
		"depot, check": {
			files: map[string]string{"a.cu": ""}, release: "19.1.6", text: "st.local.u32 [%r1], 0;",
			args: []string{"-check"}, code: 1, says: "local memory",
		},
		"other release": {
			files: map[string]string{"a.cu": "", "ptx/a.ptx": "old"}, release: "19.1.6", text: "ret;",
			code: 1, says: "is release 19.1.6, want 19.1.7", after: map[string]string{"ptx/a.ptx": "old"},
		},
		"other release, check": {
			files: map[string]string{"a.cu": "", "ptx/a.ptx": "old"}, release: "19.1.6", text: "ret;",
			args: []string{"-check"}, says: "compiled, but not compared", after: map[string]string{"ptx/a.ptx": "old"},
		},
		"empty":   {release: "19.1.7", code: 1, says: "no .cu file here"},
		"unknown": {args: []string{"-x"}, code: 2, says: "not defined"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeClang(t, c.release, c.text)
			enter(t, c.files)
			var says strings.Builder
			if code := run(c.args, &says); code != c.code {
				t.Errorf("exit status %d, want %d; it says %q", code, c.code, says.String())
			}
			if !strings.Contains(says.String(), c.says) || c.says == "" && says.Len() > 0 {
				t.Errorf("it says %q, want %q", says.String(), c.says)
			}
			for name, want := range c.after {
				if got, err := os.ReadFile(name); string(got) != want || (want == "") != (err != nil) {
					t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
				}
			}
		})
	}
}

func TestNoCompiler(t *testing.T) {
	enter(t, map[string]string{"a.cu": ""})
	t.Setenv("CLANG", "")
	t.Setenv("PATH", t.TempDir())
	var says strings.Builder
	if code := run(nil, &says); code != 1 ||
		!strings.Contains(says.String(), "apt-get install --no-install-recommends clang-19") {
		t.Errorf("exit status %d, %q, want 1 and the line that installs it", code, says.String())
	}
}
