//go:build gpu && linux && cgo

package driver_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"rollcall/nets/gpu/driver"
	"rollcall/nets/gpu/gputest"
)

// emulated runs a test again in a process that has the emulator, unless this is it.
func emulated(t *testing.T, env ...string) (inside bool) {
	t.Helper()
	const variable = "ROLLCALL_TEST_EMULATED"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	out, err := gputest.Child(t, "../kernels", false, "^"+t.Name()+"$",
		append(env, variable+"="+t.Name())...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// open opens a device on a thread of its own, which the test closes.
func open(t *testing.T, index int) (*driver.Thread, *driver.Device, error) {
	t.Helper()
	thread := driver.NewThread()
	t.Cleanup(thread.Close)
	var d *driver.Device
	err := thread.Do(func() (err error) {
		d, err = driver.Open(index)
		return err
	})
	return thread, d, err
}

// roundTrip copies a number to a device and back.
func roundTrip(thread *driver.Thread, d *driver.Device, want uint32) error {
	return thread.Do(func() error {
		p, err := d.Alloc(4)
		if err != nil {
			return err
		}
		got := make([]uint32, 1)
		if err := errors.Join(d.CopyToDevice(p, driver.Bytes([]uint32{want})),
			d.CopyFromDevice(driver.Bytes(got), p), d.Free(p)); err != nil {
			return err
		}
		if got[0] != want {
			return fmt.Errorf("read %d, want %d", got[0], want)
		}
		return nil
	})
}

// Two devices are open in one process, on threads of their own, and each is closed without the other.
func TestSeveralDevices(t *testing.T) {
	if !emulated(t, "ROLLCALL_EMULATOR_DEVICES=2", "ROLLCALL_EMULATOR_CAPABILITY=9.0,8.0") {
		return
	}
	infos, err := driver.Devices()
	if err != nil || len(infos) != 2 || infos[0].Capability() != "9.0" || infos[1].Capability() != "8.0" ||
		infos[0].Index != 0 || infos[1].Index != 1 {
		t.Fatalf("devices %+v, %v, want 9.0 and 8.0", infos, err)
	}
	threads, devices := make([]*driver.Thread, 2), make([]*driver.Device, 2)
	for i := range devices {
		if threads[i], devices[i], err = open(t, i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range devices {
		if err := roundTrip(threads[i], devices[i], uint32(7+i)); err != nil {
			t.Errorf("device %d: %v", i, err)
		}
	}
	if err := threads[0].Do(devices[0].Close); err != nil {
		t.Error(err)
	}
	if err := roundTrip(threads[1], devices[1], 9); err != nil {
		t.Errorf("after the other is closed: %v", err)
	}
	if err := threads[1].Do(devices[1].Close); err != nil {
		t.Error(err)
	}
	if _, _, err := open(t, 2); err == nil || err.Error() != "gpu: device 2, want 0 to 1" {
		t.Errorf("device 2: %v, want that there is none", err)
	}
}

// The indexes are those of the devices that CUDA_VISIBLE_DEVICES leaves.
func TestVisibleDevices(t *testing.T) {
	if !emulated(t, "ROLLCALL_EMULATOR_DEVICES=3", "ROLLCALL_EMULATOR_CAPABILITY=9.0,8.0,8.6",
		"CUDA_VISIBLE_DEVICES=2,0") {
		return
	}
	infos, err := driver.Devices()
	var got []string
	for _, i := range infos {
		got = append(got, i.Capability())
	}
	if want := []string{"8.6", "9.0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("devices %v, %v, want %v", got, err, want)
	}
}
