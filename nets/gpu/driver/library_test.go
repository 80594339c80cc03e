//go:build gpu && linux && cgo

package driver

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"rollcall/internal/must"
)

// TestNoLibrary tests a machine without a driver. The child looks for the library in another place, so that the test
// works on a machine with a driver too.
func TestNoLibrary(t *testing.T) {
	path := filepath.Join(os.TempDir(), "no", "libcuda.so.1")
	if !inChild(t, map[string]string{Variable: path}) {
		return
	}
	infos, err := Devices()
	want := "gpu: ROLLCALL_LIBCUDA: " + path + ": cannot open shared object file: No such file or directory"
	if err == nil || err.Error() != want {
		t.Errorf("Devices() = %v, %v, want %s", infos, err, want)
	}
	if _, err := Open(0); err == nil || err.Error() != want {
		t.Errorf("Open(0): %v, want %s", err, want)
	}
	if l := library.path; l != "" {
		t.Errorf("library.path = %q, want none", l)
	}
}

// TestNoDriver checks what a user without a GPU sees. It is skipped on a machine with a GPU.
func TestNoDriver(t *testing.T) {
	if !inChild(t, nil) {
		return
	}
	_, err := Devices()
	if library.path != "" {
		t.Skipf("this machine has a driver: %s", library.path)
	}
	want := "gpu: no NVIDIA GPU: libcuda.so.1: cannot open shared object file: No such file or directory"
	if hasCard(pciDevices) {
		want = strings.Replace(want, "GPU", "driver", 1)
	}
	if err == nil || err.Error() != want || errors.Is(err, ErrNoCard) == hasCard(pciDevices) {
		t.Errorf("Devices(): %v, want %s", err, want)
	}
}

// A card without a driver is no machine without a card: a sound device or a bridge of NVIDIA is.
func TestHasCard(t *testing.T) {
	for _, c := range []struct {
		vendor, class string
		want          bool
	}{
		{"0x10de", "0x030000", true}, // displays
		{"0x10de", "0x030200", true}, // computes alone
		{"0x10de", "0x040300", false},
		{"0x8086", "0x030000", false},
	} {
		dir := t.TempDir()
		device := filepath.Join(dir, "0000:01:00.0")
		must.OK(t, os.Mkdir(device, 0o700))
		must.OK(t, os.WriteFile(filepath.Join(device, "vendor"), []byte(c.vendor+"\n"), 0o600))
		must.OK(t, os.WriteFile(filepath.Join(device, "class"), []byte(c.class+"\n"), 0o600))
		if got := hasCard(dir); got != c.want {
			t.Errorf("vendor %s, class %s: %t, want %t", c.vendor, c.class, got, c.want)
		}
	}
	if hasCard(filepath.Join(t.TempDir(), "none")) {
		t.Error("a card in a folder that is not there")
	}
}

// TestNotALibrary tests a broken installation. The error has the loader's message.
func TestNotALibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	if os.Getenv(child) == "" {
		must.OK(t, os.WriteFile(path, []byte("not ELF"), 0o600))
	}
	if !inChild(t, map[string]string{Variable: path}) {
		return
	}
	_, err := Devices()
	if want := os.Getenv(Variable) + ": file too short"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("Devices(): %v, want …%s", err, want)
	}
}

// TestUnusable tests every reason why there is no device to open. Each is an error of one line.
func TestUnusable(t *testing.T) {
	const functions, hidden = "want the driver functions of CUDA 12.0", " CUDA_VISIBLE_DEVICES=7"
	const none = "cuInit: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE)"
	const stub = "CUDA error 34 (CUDA_ERROR_STUB_LIBRARY): this is the stub of the CUDA toolkit, against which " +
		"programs are linked, and not the driver: take its folder out of LD_LIBRARY_PATH, or name the driver's " +
		"libcuda.so.1 in " + Variable
	for _, c := range []struct {
		name, plans string
		flags       string // of the fake's compiler
		want        string // after the path of the library
	}{
		{"symbol missing", "", "-DcuGraphLaunch=other", "no symbol cuGraphLaunch, " + functions},
		{
			"symbols missing", "", "-DcuGraphLaunch=other -DcuMemAlloc_v2=another",
			"no symbol cuMemAlloc_v2 (and 1 more), " + functions,
		},
		{"init fails", "cuInit=100", "", none},
		{"hidden devices", "cuInit=100" + hidden, "", none + ` with CUDA_VISIBLE_DEVICES="7"`},
		{"hidden, but another reason", "cuInit=2" + hidden, "", "cuInit: out of memory (CUDA_ERROR_OUT_OF_MEMORY)"},
		{"unknown failure", "cuInit=4321", "", "cuInit: CUDA error 4321 (CUresult 4321)"},
		{"stub", "cuInit=34", "", "cuInit: " + stub},
		{"stub whose functions all fail", "cuDriverGetVersion=34", "", "cuDriverGetVersion: " + stub},
		{
			"after an update", "cuInit=803", "", "cuInit: CUDA error 803 (CUDA_ERROR_SYSTEM_DRIVER_MISMATCH): this " +
				"library and the kernel's module are of two versions of the driver: after an update the machine " +
				"must be restarted",
		},
		{
			"cuda-compat", "cuInit=804", "", "cuInit: CUDA error 804 (CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE): " +
				"cuda-compat works on cards of data centres alone: take its folder out of LD_LIBRARY_PATH, or update " +
				"the driver",
		},
		{
			"no fabric manager", "cuInit=802", "", "cuInit: CUDA error 802 (CUDA_ERROR_SYSTEM_NOT_READY): cards that " +
				"NVSwitch connects want nvidia-fabricmanager to run",
		},
		{"not initialised", "cuInit=3", "", "cuInit: CUDA error 3 (CUDA_ERROR_NOT_INITIALIZED)"},
		// An old driver lacks functions too: its age is the reason to give.
		{"old driver", "version=11080", "-DcuGraphLaunch=other", "driver of CUDA 11.8, want 12.0 or later"},
		{"no version", "cuDriverGetVersion=1", "", "cuDriverGetVersion: invalid argument (CUDA_ERROR_INVALID_VALUE)"},
		{"no device", "devices=0", "", "no device, want one of compute capability 8.0 or later"},
		{"no count", "cuDeviceGetCount=1", "", "count of devices: invalid argument"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !withFlags(t, strings.Fields(c.flags), strings.Fields(c.plans)...) {
				return
			}
			want := "gpu: " + os.Getenv(Variable) + ": " + c.want
			if infos, err := Devices(); err == nil || err.Error() != want {
				t.Errorf("Devices() = %v, %v\nwant %s", infos, err, want)
			}
			if _, err := Open(0); err == nil || err.Error() != want {
				t.Errorf("Open(0): %v\nwant %s", err, want)
			}
		})
	}
}

// TestUnusableDevice tests a driver that works with a device that is unusable.
func TestUnusableDevice(t *testing.T) {
	for _, c := range []struct{ name, plan, want string }{
		{"capability", "major=7", "compute capability 7.5, want 8.0 or later"},
		{"compute mode", "mode=2", "compute mode is prohibited (nvidia-smi -c), want default or exclusive"},
		{"a question fails", "cuDeviceTotalMem_v2=1", "memory: invalid argument"},
		{"a cu question fails", "cuDeviceGetAttribute=1", "attribute 75: invalid argument"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !withFake(t, c.plan) {
				return
			}
			infos, err := Devices()
			if err != nil || len(infos) != 1 || infos[0].Unusable != c.want {
				t.Errorf("Devices() = %+v, %v, want one unusable: %s", infos, err, c.want)
			}
			if _, err := Open(0); err == nil || err.Error() != "gpu: device 0 (Fake 0): "+c.want {
				t.Errorf("Open(0): %v, want gpu: device 0 (Fake 0): %s", err, c.want)
			}
		})
	}
}

// TestDevices checks the description of a usable device, whose driver has all functions that rollcall needs.
func TestDevices(t *testing.T) {
	if !withFake(t, "devices=2", "memory=150754820096") {
		return
	}
	infos, err := Devices()
	if l := library.path; l != os.Getenv(Variable) {
		t.Errorf("library.path = %q, want %q", l, os.Getenv(Variable))
	}
	want := DeviceInfo{
		Index: 1, Name: "Fake 1", Memory: 150754820096, Major: 9, Multiprocessors: 132,
		SharedPerBlock: 232448, Driver: 12040,
	}
	if err != nil || len(infos) != 2 || infos[1] != want {
		t.Errorf("Devices() = %+v, %v, want the second to be %+v", infos, err, want)
	}
	if c, a, v := want.Capability(), want.Arch(), want.DriverVersion(); c != "9.0" || a != 90 || v != "12.4" {
		t.Errorf("Capability %s, Arch %d, DriverVersion %s, want 9.0, 90, 12.4", c, a, v)
	}
	for _, i := range []int{-1, 2} {
		if _, err := Open(i); err == nil ||
			!regexp.MustCompile(`^gpu: device -?\d, want 0 to 1$`).MatchString(err.Error()) {
			t.Errorf("Open(%d): %v, want gpu: device %d, want 0 to 1", i, err, i)
		}
	}
}

// TestLibcAlone reads this program's own file. The program needs no library but parts of glibc, and exports no function
// that libcuda.so.1 could call in place of its own.
func TestLibcAlone(t *testing.T) {
	exe := must.Get(os.Executable())(t)
	f := must.Get(elf.Open(exe))(t)
	defer f.Close()
	libs := must.Get(f.ImportedLibraries())(t)
	// glibc before 2.34 has dlopen, threads and the resolver in files of their own; the race detector calls the
	// mathematical one.
	glibc := []string{"libc.so.6", "libdl.so.2", "libpthread.so.0", "libresolv.so.2", "libm.so.6"}
	if others := slices.DeleteFunc(libs, func(l string) bool { return slices.Contains(glibc, l) }); len(others) > 0 {
		t.Errorf("needs %v, want files of glibc alone", others)
	}
	header := must.Get(os.ReadFile("needed.h"))(t)
	ours := map[string]bool{"cuInit": true}
	for _, m := range regexp.MustCompile(`(?m)^CALL\((\w+),`).FindAllStringSubmatch(string(header), -1) {
		ours[m[1]] = true
	}
	symbols, err := f.DynamicSymbols()
	if err != nil || len(ours) != 41 {
		t.Fatalf("%d names in needed.h and cuInit, want 41; %v", len(ours), err)
	}
	for _, s := range symbols {
		if ours[s.Name] {
			t.Errorf("dynamic symbol %s, want none of the driver's names", s.Name)
		}
	}
}

// TestUnusableUnderLimit tests a driver that gets no addresses because of ulimit -v.
func TestUnusableUnderLimit(t *testing.T) {
	if !withFake(t, "cuInit=2") {
		return
	}
	must.OK(t, syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 1 << 45, Max: 1 << 46}))
	want := "gpu: " + os.Getenv(Variable) +
		": cuInit: out of memory (CUDA_ERROR_OUT_OF_MEMORY) with ulimit -v 34359738368"
	if _, err := Devices(); err == nil || err.Error() != want {
		t.Errorf("Devices(): %v\nwant %s", err, want)
	}
}
