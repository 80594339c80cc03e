//go:build gpu && linux && cgo

package driver

import (
	_ "embed"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rollcall/internal/must"
)

const (
	// driverVariable names the environment variable that names a driver library of NVIDIA's for the tests that need no
	// device, as `make check-driver` does. If it is empty, they take this machine's.
	driverVariable = "ROLLCALL_TEST_LIBCUDA"
	// faultVariable names the environment variable that allows a test to fault the device. The machine logs the fault
	// (an Xid), and another program that uses the device may notice.
	faultVariable = "ROLLCALL_TEST_FAULT"
)

// onDriver runs the calling test in a child process with a driver library of NVIDIA's. It skips the test if none is
// named and the machine has none.
func onDriver(t *testing.T) bool {
	t.Helper()
	named := os.Getenv(driverVariable)
	if !inChild(t, map[string]string{Variable: named}) {
		return false
	}
	err := load()
	if library.version < minVersion { // none was found, or a stub, or an old one
		if named != "" {
			t.Fatal(err)
		}
		t.Skipf("left out: %v (make check-driver gets a library)", err)
	}
	return true
}

// TestHardwareSymbols looks up every driver function in the real library.
func TestHardwareSymbols(t *testing.T) {
	if !onDriver(t) {
		return
	}
	for _, name := range lookUp(true) {
		t.Errorf("%s: no %s, which needed.h has", library.path, name)
	}
	for _, name := range lookUp(false) { // a machine's may be so new that it has dropped some
		if explained[name] == "" && os.Getenv(driverVariable) != "" {
			t.Errorf("%s: no %s, which linked.h has", library.path, name)
		}
	}
}

// resultCode is a CUresult as an error: cuError takes any integer.
type resultCode int

func (resultCode) Error() string { return "" }

var (
	codePattern = regexp.MustCompile(`\b(CUDA_ERROR_\w+) = (\d+)`)
	textPattern = regexp.MustCompile(`\{\w+, "(CUDA_ERROR_\w+)", "(.*)"\}`)
)

// TestHardwareNames asks the real library for the name of every result that cuda.h has, and for the text of each result
// that the fake driver or the emulator can give: other tests want those in messages.
func TestHardwareNames(t *testing.T) {
	if !onDriver(t) {
		return
	}
	read := func(path string) string { return string(must.Get(os.ReadFile(path))(t)) }
	texts := map[string]string{}
	for _, m := range codePattern.FindAllStringSubmatch(read("cuda.h"), -1) {
		code := must.Get(strconv.Atoi(m[2]))(t)
		var got *Error
		if !errors.As(cuError(resultCode(code)), &got) {
			t.Fatalf("%s: no error", m[1])
		}
		if got.Name != m[1] && (explained[m[1]] == "" || got.Name != unnamed(code)) {
			t.Errorf("result %d is %s, want %s, as cuda.h says", code, got.Name, m[1])
		}
		if known, ok := started[code]; ok && known.name != m[1] {
			t.Errorf("result %d: library.go says %s, want %s", code, known.name, m[1])
		}
		texts[m[1]] = got.Text
	}
	for _, path := range []string{"testdata/fakecuda.c", "../emulator/cpp/device.cpp"} {
		rows := textPattern.FindAllStringSubmatch(read(path), -1)
		if len(rows) < 5 {
			t.Errorf("%s: %d results, want more", path, len(rows))
		}
		for _, m := range rows {
			if texts[m[1]] != m[2] {
				t.Errorf("%s: %s: text %q, want %q", path, m[1], m[2], texts[m[1]])
			}
		}
	}
}

// onHardware runs the calling test in a child process with this machine's driver. It skips the test if the machine has
// no usable device.
func onHardware(t *testing.T) bool {
	t.Helper()
	if os.Getenv(child) == "" {
		if lib := os.Getenv(Variable); lib != "" {
			t.Skipf("%s=%s: not this machine's driver", Variable, lib)
		}
		infos, err := Devices()
		if err != nil {
			t.Skip(err)
		}
		if infos[0].Unusable != "" {
			t.Skipf("gpu: device 0 (%s): %s", infos[0].Name, infos[0].Unusable)
		}
		t.Logf("%s: %+v", library.path, infos[0])
	}
	return inChild(t, nil)
}

// TestHardwareExercise uses every feature again and again. Free memory must not shrink after the first runs, in which
// the driver takes memory for itself.
func TestHardwareExercise(t *testing.T) {
	if !onHardware(t) {
		return
	}
	onThread(t, func(d *Device) {
		waitsSleep(t, d)
		loadModules(t, d)
		exercise(t, d)
		before, _ := must.Get2(d.FreeMemory())(t)
		for range 100 {
			exercise(t, d)
		}
		// Other processes may take memory meanwhile; a leak of one buffer's 2 MB page a run would be 200 MB.
		after, _ := must.Get2(d.FreeMemory())(t)
		if before-after > 64<<20 {
			t.Errorf("free memory fell from %d to %d bytes over 100 runs, want 64 MB at the most", before, after)
		}
		must.OK(t, d.Close())
	})
}

// brokenPTX does not compile. Its first line is what NVIDIA's compiler says of it.
//
//go:embed testdata/broken.ptx
var brokenPTX string

// TestHardwareErrors makes the real driver fail: memory runs out, PTX does not compile, a launch is too large.
func TestHardwareErrors(t *testing.T) {
	if !onHardware(t) {
		return
	}
	onThread(t, func(d *Device) {
		if _, err := d.Alloc(1 << 46); !errors.Is(err, ErrOutOfMemory) { // 49 bits are an address
			t.Errorf("Alloc(64 TiB): %v, want ErrOutOfMemory", err)
		}
		_, err := d.LoadModule("broken", brokenPTX)
		want, _, _ := strings.Cut(strings.TrimPrefix(brokenPTX, "//"), "\n")
		if err == nil || !strings.HasSuffix(err.Error(), ","+want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("LoadModule: %v, want one line that ends in %s", err, want)
		}
		f, s := fillOn(t, d)
		var a fillArgs
		err = launchAs(f, s, 4096, &a)
		if want = "gpu: fill (grid 1, block 4096): launch: invalid argument"; err == nil || err.Error() != want {
			t.Errorf("Launch: %v, want %s", err, want)
		}
		if err := f.SetMaxDynamicShared(d.Info().SharedPerBlock); err != nil {
			t.Errorf("SetMaxDynamicShared(%d): %v", d.Info().SharedPerBlock, err)
		}
		if err := f.SetMaxDynamicShared(d.Info().SharedPerBlock + 1024); err == nil {
			t.Errorf("SetMaxDynamicShared(%d): no error", d.Info().SharedPerBlock+1024)
		}
		if err := f.SetCarveout(50); err != nil || f.Attributes().Carveout != 50 {
			t.Errorf("SetCarveout(50): %v, the driver has %d", err, f.Attributes().Carveout)
		}
	})
}

// TestHardwareLost makes a kernel write to an invalid address. Every later call says that the device is lost.
func TestHardwareLost(t *testing.T) {
	if os.Getenv(faultVariable) == "" {
		t.Skipf("left out: it faults the device on purpose: %s=1 allows that", faultVariable)
	}
	if !onHardware(t) {
		return
	}
	onThread(t, func(d *Device) {
		f, s := fillOn(t, d)
		must.OK(t, fill(f, s, fillArgs{out: 64, n: 1}))
		for range 2 {
			err := s.Synchronize()
			want := "gpu: synchronize after fill (grid 1, block 256): an illegal memory access was encountered"
			if !errors.Is(err, ErrDeviceLost) || err.Error() != want {
				t.Errorf("Synchronize: %v, want ErrDeviceLost: %s", err, want)
			}
		}
		if _, err := d.Alloc(4); !errors.Is(err, ErrDeviceLost) {
			t.Errorf("Alloc: %v, want ErrDeviceLost", err)
		}
	})
}
