//go:build gpu && linux && cgo

package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rollcall/internal/must"
)

// TestJIT loads PTX that does not compile. The error is one line, with the first line of the compiler's messages.
func TestJIT(t *testing.T) {
	const log = "ptxas application ptx input, line 12; error   : Unknown symbol 'q'\nptxas fatal   : " +
		"Ptx assembly aborted due to errors\n"
	if !withFake(t, "log="+log) {
		return
	}
	onThread(t, func(d *Device) {
		_, err := d.LoadModule("conv2d", ".version 7.8 nonsense")
		want := "gpu: module conv2d: a PTX JIT compilation failed: ptxas application ptx input, line 12; " +
			"error   : Unknown symbol 'q'"
		if err == nil || err.Error() != want {
			t.Errorf("LoadModule: %v\nwant %s", err, want)
		}
		if e := (*Error)(nil); !errors.As(err, &e) || e.Name != "CUDA_ERROR_INVALID_PTX" {
			t.Errorf("LoadModule: %#v, want CUDA_ERROR_INVALID_PTX", e)
		}
		m := must.Get(d.LoadModule("fill", fillPTX))(t)
		if _, err := m.Function("file"); err == nil ||
			err.Error() != "gpu: module fill: kernel file: named symbol not found" {
			t.Errorf("Function(file): %v", err)
		}
	})
}

// TestCompiler loads PTX with a driver in a folder that the loader does not know. The driver finds the compiler beside
// it; where there is none, the error says which file is missing.
func TestCompiler(t *testing.T) {
	for name, there := range map[string]bool{"beside": true, "missing": false} {
		t.Run(name, func(t *testing.T) {
			lib := fake(t, "-DCOMPILER")
			if source := filepath.Join(filepath.Dir(lib), "compiler.c"); os.Getenv(child) == "" && there {
				must.OK(t, os.WriteFile(source, []byte("int fake_compiler;\n"), 0o600))
				const soname = "libnvidia-ptxjitcompiler.so.1"
				build(t, filepath.Join(filepath.Dir(lib), soname), "-Wl,-soname,"+soname, source)
			}
			if !inChild(t, map[string]string{Variable: lib}) {
				return
			}
			onThread(t, func(d *Device) {
				if there {
					exercise(t, d)
					return
				}
				_, err := d.LoadModule("fill", fillPTX)
				want := "gpu: module fill: PTX JIT compiler library not found: no libnvidia-ptxjitcompiler.so.1 " +
					"loads from the folder of " + lib + "; a container wants NVIDIA_DRIVER_CAPABILITIES=compute,utility"
				if err == nil || err.Error() != want {
					t.Errorf("LoadModule: %v\nwant %s", err, want)
				}
			})
		})
	}
}

// TestLoadModules loads many modules at once: each is in the place of its source, and has a kernel that runs. One that
// does not compile is the error.
func TestLoadModules(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) { loadModules(t, d) })
}

// loadModules works on the fake device and on a real one.
func loadModules(t *testing.T, d *Device) {
	t.Helper()
	var sources []Source
	for i := range 20 {
		sources = append(sources, Source{fmt.Sprint("fill", i), fillPTX, []string{"fill"}})
	}
	modules := must.Get(d.LoadModules(sources))(t)
	p := must.Get(d.Alloc(4))(t)
	s := must.Get(d.NewStream())(t)
	for i, m := range modules {
		if m.name != sources[i].Name {
			t.Errorf("module %d: %s, want %s", i, m.name, sources[i].Name)
		}
		if m.functions["fill"] == nil || m.Loading <= 0 || m.Finding <= 0 {
			t.Errorf("module %d: found %v, loaded in %v and found in %v, want fill and times",
				i, m.functions, m.Loading, m.Finding)
		}
		f := must.Get(m.Function("fill"))(t)
		must.OK(t, fill(f, s, fillArgs{p, uint32(i), 1}))
		got := make([]uint32, 1)
		must.OK(t, d.CopyFromDevice(Bytes(got), p))
		if got[0] != uint32(i) {
			t.Errorf("module %d: its kernel wrote %d", i, got[0])
		}
		must.OK(t, m.Unload())
	}
	sources[7].PTX = strings.Replace(fillPTX, ".entry fill(", ".entry fill%(", 1)
	_, err := d.LoadModules(sources)
	if err == nil || !strings.HasPrefix(err.Error(), "gpu: module fill7: ") {
		t.Errorf("LoadModules: %v, want an error about fill7", err)
	}
	sources[0].Kernels = []string{"file"}
	missing, err := d.LoadModules(sources[:1])
	if want := "gpu: module fill0: kernel file: named symbol not found"; err == nil || err.Error() != want {
		t.Errorf("LoadModules: %v, want %s", err, want)
	}
	must.OK(t, missing[0].Unload())
	must.OK(t, errors.Join(d.Free(p), s.Destroy()))
}

// TestLaunchErrors tests launches that the binding or the driver refuses.
func TestLaunchErrors(t *testing.T) {
	if !withFake(t) {
		return
	}
	onThread(t, func(d *Device) {
		f, s := fillOn(t, d)
		var a [5000]byte
		const sizes, one = "want sizes of 1 or more", "(grid 1, block 1, shared 512 bytes): launch: "
		for _, c := range []struct {
			name            string
			grid            [2]int
			threads, shared int
			bytes           int
			want            string
		}{
			{
				"driver",
				[2]int{256, 37},
				128, 41<<10 - 512, 16,
				"(grid 256×37, block 128, shared 41 KiB): launch: invalid argument",
			},
			{"empty grid", [2]int{0, 37}, 128, 0, 16, "(grid 0×37, block 128, shared 512 bytes): launch: " + sizes},
			{"flat grid", [2]int{5, 0}, 128, 0, 16, "(grid 5×0, block 128, shared 512 bytes): launch: " + sizes},
			{"negative", [2]int{1, 1}, -8, 0, 16, "(grid 1, block -8, shared 512 bytes): launch: " + sizes},
			{"no parameters", [2]int{1, 1}, 1, 0, 0, one + "0 bytes of parameters, want 1 to 4096"},
			{"many parameters", [2]int{1, 1}, 1, 0, 5000, one + "5000 bytes of parameters, want 1 to 4096"},
			{"other parameters", [2]int{1, 1}, 1, 0, 24, one + "24 bytes of parameters, want the kernel's 16"},
		} {
			if err := f.Launch(c.grid, c.threads, c.shared, s, a[:c.bytes]); err == nil ||
				err.Error() != "gpu: fill "+c.want {
				t.Errorf("%s: %v\nwant gpu: fill %s", c.name, err, c.want)
			}
		}
		must.OK(t, f.SetMaxDynamicShared(200<<10))
		err := f.SetMaxDynamicShared(227 << 10)
		if want := "gpu: fill: 227 KiB of dynamic shared memory, static 512 bytes: invalid argument"; err == nil ||
			err.Error() != want {
			t.Errorf("SetMaxDynamicShared(227 KiB): %v, want %s", err, want)
		}
		if c := f.Attributes().Carveout; c != DriverCarveout {
			t.Errorf("carveout %d before SetCarveout, want %d", c, DriverCarveout)
		}
		must.OK(t, f.SetCarveout(40))
		if c := f.Attributes().Carveout; c != 40 {
			t.Errorf("carveout %d, want the driver's 40", c)
		}
		err = f.SetCarveout(101)
		if want := "gpu: fill: carveout of 101 percent: invalid argument"; err == nil || err.Error() != want {
			t.Errorf("SetCarveout(101): %v, want %s", err, want)
		}
	})
}
