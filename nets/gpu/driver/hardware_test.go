//go:build gpu && linux && cgo

package driver

import (
	"errors"
	"os"
	"strings"
	"testing"

	"rollcall/internal/must"
)

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

// TestHardwareErrors makes the real driver fail: memory runs out, PTX does not compile, a launch is too large.
func TestHardwareErrors(t *testing.T) {
	if !onHardware(t) {
		return
	}
	onThread(t, func(d *Device) {
		if _, err := d.Alloc(1 << 46); !errors.Is(err, ErrOutOfMemory) { // 49 bits are an address
			t.Errorf("Alloc(64 TiB): %v, want ErrOutOfMemory", err)
		}
		_, err := d.LoadModule("broken", strings.Replace(fillPTX, "add.u32", "add.u33", 1))
		if err == nil || !strings.Contains(err.Error(), "line 24; error   : Unknown modifier '.u33'") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("LoadModule: %v, want one line of the compiler's", err)
		}
		f, s := fillOn(t, d)
		var a fillArgs
		err = launchAs(f, s, 4096, &a)
		if want := "gpu: fill (grid 1, block 4096): launch: invalid argument"; err == nil || err.Error() != want {
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
